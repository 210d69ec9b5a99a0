"""The client that keeps debugpy's adapter able to accept others."""

import socket
import threading
from types import SimpleNamespace

import pytest

from blsnb.debugger.adapter_guard import AdapterGuard, register


@pytest.fixture
def adapter():
    """An adapter, which reports its ports to each client; and its clients."""
    clients = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            # It ends when the server is closed.
            try:
                while True:
                    client, _ = server.accept()
                    clients.append(client)
                    client.send(b"ports")
            except OSError:
                pass

        thread = threading.Thread(target=accept)
        thread.start()
        yield SimpleNamespace(address=server.getsockname(), clients=clients)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for client in clients:
        client.close()


class Client:
    """The kernel's client of the adapter."""

    def __init__(self, address, routing_id=None):
        self.address, self.routing_id = address, routing_id
        self.connected = 0

    def get_host_port(self):
        return self.address

    def connect_tcp_socket(self):
        self.connected += 1


def test_it_joins_before_the_kernel_and_stays(adapter):
    """The kernel connects each time; the reports since then are read and dropped."""
    client = Client(adapter.address)
    guard = AdapterGuard(client)
    guard.install()
    assert [] == adapter.clients
    client.connect_tcp_socket()
    for _ in range(2):
        adapter.clients[0].send(b"ports")
        client.connect_tcp_socket()
    assert (1, 3) == (len(adapter.clients), client.connected)

    guard.remove()
    assert client.connect_tcp_socket.__func__ is Client.connect_tcp_socket
    # With an unread report it would be reset.
    assert b"" == adapter.clients[0].recv(1)


def test_a_connected_kernel_is_joined_at_once(adapter):
    """As after the extension was loaded with the debugger on."""
    client = Client(adapter.address, routing_id=b"id")
    kernel = SimpleNamespace(debugger=SimpleNamespace(debugpy_client=client))
    remove = register(SimpleNamespace(kernel=kernel))
    assert 1 == len(adapter.clients)

    remove()
    assert b"" == adapter.clients[0].recv(1)


def test_without_an_adapter_the_kernel_connects_and_says_so():
    """A missing adapter is no error of the guard; neither is an unknown kernel."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    client = Client(address)
    AdapterGuard(client).install()
    client.connect_tcp_socket()
    assert 1 == client.connected

    assert register(SimpleNamespace())() is None
