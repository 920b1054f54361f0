/** A controller as the manager starts it for every term. */
import { type Controller, type ControllerDeps, type Step, startController } from "../../pkg/kube/controller.ts";
import type { Startable } from "../../pkg/kube/manager.ts";

export function startable<W, V, S extends Step>(controller: Controller<W, V, S>, deps: ControllerDeps): Startable {
  return { name: controller.name, start: (term) => startController(controller, deps, term) };
}
