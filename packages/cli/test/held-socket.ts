import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { BIN } from './spawned.ts'

/** A service that restarts on the same listening socket after each end. */
export interface HeldService {
  url: string
  /** Sends SIGTERM and resolves when the next process has started. */
  restart(): Promise<void>
  /** Stops the service for good. */
  stop(): Promise<void>
}

/**
 * Holds a listening socket and restarts the service on it after each end, as systemd does with a socket unit. `folder` is
 * the folder of the service, with its log.
 */
export async function holdSocket(folder: string, env: NodeJS.ProcessEnv): Promise<HeldService> {
  const socket = createServer().listen(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address() as AddressInfo
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle
  const start = `echo $$ > pid; LISTEN_PID=$$ LISTEN_FDS=1 exec ${process.execPath} ${BIN} serve >> log`
  const script = `while [ ! -e enough ]; do sh -c '${start}'; done`
  const { PATH, HOME, TMPDIR } = process.env
  const holder: ChildProcess = spawn('sh', ['-c', script], {
    cwd: folder,
    env: { PATH, HOME, TMPDIR, SVC_DATA_DIR: folder, ...env },
    stdio: ['ignore', 'ignore', 'inherit', fd],
  })
  socket.close()
  const pid = () => readFileSync(join(folder, 'pid'), 'utf8')
  return {
    url: `http://127.0.0.1:${port}`,
    async restart() {
      const before = pid()
      process.kill(Number(before), 'SIGTERM')
      await expect
        .poll(pid, { timeout: 20_000 })
        .toMatch(new RegExp(`^(?!${before.trim()}\\n)\\d+\\n`))
    },
    async stop() {
      if (holder.exitCode !== null) return
      writeFileSync(join(folder, 'enough'), '')
      process.kill(Number(pid()), 'SIGTERM')
      await once(holder, 'exit')
    },
  }
}
