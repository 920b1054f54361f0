import { describe, expect, test } from "bun:test";
import { covers, judgeServer, type ServerFacts, type ServerSecret } from "./server.ts";

const NOW = new Date("2030-01-01T00:00:00Z");
const GOOD: ServerFacts = {
  missing: [],
  problem: undefined,
  thumbprint: "ab",
  notBefore: new Date("2029-01-01T00:00:00Z"),
  notAfter: new Date("2031-01-01T00:00:00Z"),
  dnsNames: ["*.cart-headless.shop.svc"],
};
const ANNOUNCED = ["cart-0-0-0.cart-headless.shop.svc"];

function judge(secret: ServerSecret, own = false) {
  return judgeServer({ name: "theirs", own, secret, announced: ANNOUNCED }, NOW);
}
const given = (more: Partial<ServerFacts>) => judge({ is: "there", facts: { ...GOOD, ...more } });

describe("a certificate for servers", () => {
  test("that is good is ready", () => {
    expect(given({})).toMatchObject({ usable: true, phase: "Ready", notAfter: GOOD.notAfter });
  });

  test("that is not there is told by whose it is to make", () => {
    expect(judge({ is: "absent" })).toMatchObject({ usable: false, phase: "MissingSecret" });
    expect(judge({ is: "absent" }, true)).toMatchObject({ usable: false, phase: "Issuing" });
    expect(judge({ is: "unknown" })).toMatchObject({ usable: false, phase: "Pending" });
  });

  test("that will not do says why and what to do", () => {
    const incomplete = given({ missing: ["tls.key", "ca.crt"] });
    expect(incomplete).toMatchObject({ phase: "IncompleteSecret", message: "Secret theirs lacks tls.key and ca.crt" });
    expect(given({ problem: "tls.key is not the key of tls.crt" })).toMatchObject({ usable: false, phase: "Error" });
    expect(given({ notAfter: NOW }).message).toContain("expired at 2030-01-01T00:00:00.000Z: renew it");
    expect(given({ notBefore: new Date("2030-02-01") }).message).toContain("valid only from");
  });

  test("that lacks announced names is used, and said to be refused by clients that check names", () => {
    const doubtful = given({ dnsNames: ["cart.shop.svc"] });
    expect(doubtful).toMatchObject({ usable: true, phase: "Ready" });
    expect(doubtful.message).toContain("does not hold cart-0-0-0.cart-headless.shop.svc");
  });

  test("covers names as clients match them", () => {
    expect(covers("*.a.b", "x.a.b")).toBe(true);
    expect(covers("*.a.b", "y.x.a.b")).toBe(false);
    expect(covers("*.a.b", "a.b")).toBe(false);
    expect(covers("X.a", "x.A")).toBe(true);
  });
});
