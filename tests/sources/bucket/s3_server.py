"""moto as an S3 storage on loopback."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from moto.server import ThreadedMotoServer

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

ACCESS_KEY, SECRET_KEY = "AKIAEXAMPLE", "not a real key"
LOGIN = {"accesskey": ACCESS_KEY.encode(), "secretkey": SECRET_KEY.encode()}


@dataclass(frozen=True)
class S3:
    """The storage, and a client that fills it."""

    endpoint: str
    client: Any

    def put(self, bucket: str, objects: Mapping[str, str]) -> None:
        for key, text in objects.items():
            self.client.put_object(Bucket=bucket, Key=key, Body=text.encode())

    def make(self, bucket: str, objects: Mapping[str, str]) -> None:
        self.client.create_bucket(Bucket=bucket)
        self.put(bucket, objects)


@contextmanager
def s3_server() -> Generator[S3]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name="us-east-1",
    )
    try:
        yield S3(f"{host}:{port}", client)
    finally:
        client.close()
        server.stop()
