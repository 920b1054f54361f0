/** Whether a server answers at all, whatever it says: one that is stopped or cut off does not. */
import { connect as connectPlain } from "node:net";
import { connect as connectTls } from "node:tls";

export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

const DEADLINE_MS = 500;

/**
 * The kernel takes connections for a process that stands still, so a connection alone is no answer. In clear any reply
 * counts, a refusal too; with TLS the server's half of the handshake does, an alert too.
 */
export async function answers({ host, port, tls }: ProbeTarget): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = tls
    ? connectTls({ host, port, rejectUnauthorized: false }, () => resolve(true))
    : connectPlain({ host, port }, () => void socket.write("PING\r\n"));
  const timer = setTimeout(() => resolve(false), DEADLINE_MS);
  socket.on("data", () => resolve(true));
  socket.on("close", () => resolve(false));
  socket.on("error", (error: Error & { code?: string }) => resolve(tls && isAlert(error)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

function isAlert({ code = "" }: { readonly code?: string }): boolean {
  return code.startsWith("ERR_SSL_");
}
