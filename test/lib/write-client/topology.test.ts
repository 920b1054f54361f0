import { expect, test } from "bun:test";
import { parseAddress, parseClusterNodes, Topology } from "./topology.ts";

const A = { host: "10.0.0.1", port: 6379 };
const B = { host: "10.0.0.2", port: 6379 };

test("CLUSTER NODES is read: owners, replicas, names, slots on the move, a node without an address", () => {
  const text = [
    "aa :6379@16379 myself,master - 0 0 3 connected 0-5 9 [7->-bb]",
    "bb 10.0.0.2:6379@16379,b.example master - 0 0 4 connected 10-11",
    "cc 10.0.0.3:6379@16379 slave aa 0 0 3 connected",
    "dd :0@0 master,noaddr - 0 0 1 disconnected 12",
  ].join("\n");
  expect(parseClusterNodes(text, A)).toEqual({
    cluster: true,
    claims: [
      {
        owner: A,
        epoch: 3,
        ranges: [
          [0, 5],
          [9, 9],
        ],
      },
      { owner: { host: "b.example", port: 6379 }, epoch: 4, ranges: [[10, 11]] },
    ],
    addresses: [A, { host: "b.example", port: 6379 }, { host: "10.0.0.3", port: 6379 }],
  });
});

test("the claim with the higher epoch wins, in whatever order claims are heard", () => {
  for (const order of [
    [1, 2],
    [2, 1],
  ]) {
    const topology = new Topology();
    for (const epoch of order) {
      topology.learn({
        cluster: true,
        addresses: [],
        claims: [{ owner: epoch === 1 ? A : B, epoch, ranges: [[0, 0]] }],
      });
    }
    expect(topology.owner(0)).toEqual(B);
  }
});

test("a redirection is believed at once, and a doubted owner gives way to an older claim", async () => {
  const topology = new Topology();
  topology.learn({ cluster: true, addresses: [], claims: [{ owner: A, epoch: 7, ranges: [[0, 1]] }] });
  const changed = topology.changed;
  topology.moved(0, B);
  await changed;
  expect(topology.owner(0)).toEqual(B);
  topology.doubt(1, A);
  topology.learn({ cluster: true, addresses: [], claims: [{ owner: B, epoch: 1, ranges: [[1, 1]] }] });
  expect(topology.owner(1)).toEqual(B);
});

test("an owner that failed is found again at its new address for all it owned, although its epoch is the same", () => {
  const topology = new Topology();
  topology.learn({ cluster: true, addresses: [], claims: [{ owner: A, epoch: 7, ranges: [[0, 9]] }] });
  topology.doubt(3, A);
  topology.learn({ cluster: true, addresses: [], claims: [{ owner: B, epoch: 7, ranges: [[0, 9]] }] });
  for (const slot of Array(10).keys()) expect(topology.owner(slot)).toEqual(B);
});

test("addresses are read with names, IPv4 and IPv6 hosts, and refused without a port", () => {
  expect(parseAddress("a.b:1")).toEqual({ host: "a.b", port: 1 });
  expect(parseAddress("[::1]:7000")).toEqual({ host: "::1", port: 7000 });
  expect(parseAddress(":7000", "10.0.0.9")).toEqual({ host: "10.0.0.9", port: 7000 });
  expect(parseAddress("a.b")).toBeUndefined();
  expect(parseAddress("a:0")).toBeUndefined();
});
