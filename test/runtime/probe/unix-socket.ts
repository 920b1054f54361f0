/** unix-server PATH greets whoever connects; unix-client PATH prints the greeting and when the other side is gone. */
import { connect, createServer } from "node:net";
import { say } from "./say.ts";

export function serveUnix([path = ""]: readonly string[]): void {
  const server = createServer((socket) => {
    socket.on("data", (piece) => say({ heard: piece.toString() }));
    socket.on("error", (error) => say({ failed: error.message }));
    socket.write("hello");
  });
  server.listen(path, () => say({ listening: path }));
}

export function watchUnix([path = ""]: readonly string[]): void {
  const socket = connect(path);
  socket.on("connect", () => socket.write("good day"));
  // Without a handler for data the end would never be told.
  socket.on("data", (piece) => say({ greeting: piece.toString() }));
  socket.on("error", (error) => say({ failed: error.message }));
  socket.on("close", () => say({ closed: Date.now() }));
}
