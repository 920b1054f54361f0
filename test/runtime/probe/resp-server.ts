/** resp-server PATH: speaks Valkey's protocol on a unix socket, as an agent does to valkey-cli. */
import { createServer, type Socket } from "node:net";
import { type Reply, ReplyParser } from "../../../pkg/valkey/resp.ts";
import { say } from "./say.ts";

export function serveResp([path = ""]: readonly string[]): void {
  const server = createServer((socket) => {
    // A command has the form of a reply: an array of strings.
    const parser = new ReplyParser();
    socket.on("data", (piece: Buffer) => {
      for (const command of parser.push(piece)) answer(socket, command);
    });
    socket.on("error", (error) => say({ failed: error.message }));
  });
  server.listen(path, () => say({ listening: path }));
}

function answer(socket: Socket, command: Reply): void {
  const [name = "", ...args] = Array.isArray(command) ? command.map(String) : [];
  say({ command: [name, ...args] });
  switch (name.toUpperCase()) {
    case "PING":
      socket.write("+PONG\r\n");
      break;
    case "ECHO":
      socket.write(`$${Buffer.byteLength(args[0] ?? "")}\r\n${args[0] ?? ""}\r\n`);
      break;
    default:
      socket.write(`-ERR unknown command '${name}'\r\n`);
  }
}
