import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough, type Readable, Writable } from 'node:stream'

/** A command as called by the shell. */
export interface Call {
  name: string
  argv: string[]
  cwd: string
  env: NodeJS.ProcessEnv
  stdin: Readable
  stdout: Writable
  stderr: Writable
  /** Aborts when the shell has ended the call. */
  gone: AbortSignal
}

/** Runs a call, and returns its exit code. */
export type Answer = (call: Call) => Promise<number>

/** Answers the calls of the stand-ins in `folder`, on a socket there. */
export async function listenForCalls(
  folder: string,
  answer: Answer,
): Promise<{ path: string; close(): Promise<void> }> {
  const path = join(folder, 'calls')
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    void take(socket, answer)
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return {
    path,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function take(socket: Socket, answer: Answer): Promise<void> {
  const gone = new AbortController()
  socket.on('close', () => gone.abort())
  const stdin = new PassThrough()
  const header = await firstLine(socket, stdin)
  const send = (what: object) => {
    if (socket.writable) socket.write(`${JSON.stringify(what)}\n`)
  }
  const stream = (name: string) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        send({ [name]: chunk.toString('base64') })
        done()
      },
    })
  const parsed = JSON.parse(header) as Pick<Call, 'name' | 'argv' | 'cwd' | 'env'>
  const streams = { stdin, stdout: stream('stdout'), stderr: stream('stderr') }
  const code = await answer({ ...parsed, ...streams, gone: gone.signal }).catch(
    (error: unknown) => {
      streams.stderr.write(`${parsed.name}: ${error instanceof Error ? error.stack : error}\n`)
      return 70
    },
  )
  send({ code })
  socket.end()
}

/** The first line of the input; later input goes to `rest`. */
function firstLine(socket: Socket, rest: PassThrough): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const look = (chunk: Buffer) => {
      const end = chunk.indexOf(10)
      chunks.push(end === -1 ? chunk : chunk.subarray(0, end))
      if (end === -1) return
      socket.off('data', look)
      rest.write(chunk.subarray(end + 1))
      socket.pipe(rest)
      resolve(Buffer.concat(chunks).toString())
    }
    socket.on('data', look)
    // The reader may end before the output does.
    socket.on('close', () => rest.end())
  })
}
