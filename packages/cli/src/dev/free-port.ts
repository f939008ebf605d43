import { createServer } from 'node:net'
import { Failure } from '../process/failure.ts'

const TRIES_MAX = 100

/**
 * Finds the first free port at or above `from`. Another program may take it before the caller listens.
 * @throws Failure when 100 ports are in use, and the error of the system for an address that cannot be used.
 */
export async function freePort(host: string, from: number): Promise<number> {
  for (let port = from; port < from + TRIES_MAX; port++) {
    if (await isFree(host, port)) return port
  }
  throw new Failure('failed', `ports ${from} to ${from + TRIES_MAX - 1} are in use: set PORT`)
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
