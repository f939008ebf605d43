import { createServer } from 'node:net'
import { Failure } from '../process/failure.ts'

const TRIES_MAX = 100

/**
 * The first port from `from` on that nobody listens on. Somebody may take it before the caller does.
 * @throws Failure when none of the next hundred is free; any other trouble with the address as the system says it.
 */
export async function freePort(host: string, from: number): Promise<number> {
  for (let port = from; port < from + TRIES_MAX; port++) {
    if (await isFree(host, port)) return port
  }
  throw new Failure('failed', `ports ${from} to ${from + TRIES_MAX - 1} are taken: set PORT`)
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    probe.listen({ host, port }, () => probe.close(() => resolve(true)))
  })
}
