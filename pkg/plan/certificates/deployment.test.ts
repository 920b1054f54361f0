import { expect, test } from "bun:test";
import { type DeploymentView, type ExternalServers, planDeployment } from "./deployment.ts";

const NOW = new Date("2030-01-01T00:00:00Z");
const at = (days: number) => new Date(NOW.getTime() + days * 86_400_000);

function theirs(thumbprint: string, shown: string | undefined): ExternalServers {
  return { secret: "theirs", certificate: { thumbprint, notBefore: at(-1), notAfter: at(9) }, shown };
}

/** The binding that follows, or the one that is there when nothing is to be changed. */
function bindingAfter(external: ExternalServers, binding?: DeploymentView["binding"]) {
  const view = { name: "c", cluster: "c", staleBundles: [], identities: undefined, servers: undefined };
  const { steps } = planDeployment({ ...view, external, binding }, NOW);
  return steps.find((step) => step.do === "apply-binding")?.spec ?? binding;
}

test("a certificate of somebody else is told with the one before it, until a handshake has shown the new one", () => {
  const first = bindingAfter(theirs("aa", undefined));
  expect(first?.active).toMatchObject([{ purpose: "tls", thumbprint: "aa", secretName: "theirs" }]);
  const renewed = bindingAfter(theirs("bb", "aa"), first);
  expect(renewed).toMatchObject({ active: [{ thumbprint: "bb" }], deprecated: [{ thumbprint: "aa" }] });
  const shown = bindingAfter(theirs("bb", "bb"), renewed);
  expect(shown).toMatchObject({ active: [{ thumbprint: "bb" }], deprecated: [] });
});

test("a Secret of somebody else that cannot be read changes nothing: servers go on with what they have", () => {
  const first = bindingAfter(theirs("aa", "aa"));
  expect(bindingAfter({ secret: "theirs", certificate: undefined, shown: "aa" }, first)).toBe(first);
});
