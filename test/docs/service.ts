import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Running, start } from '../../packages/cli/test/svc.ts'

const PATIENCE_MS = 60_000

/** The service of a machine, controlled as by its init system. */
export interface Service {
  /** Runs a `systemctl` command. */
  control(argv: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** A stopped service, with the environment of its unit. */
export function createService(cwd: string, env: NodeJS.ProcessEnv & { PORT: string }): Service {
  let running: Running | undefined
  const stop = async () => {
    await running?.stop()
    running = undefined
  }
  return {
    async control(argv) {
      const isOurs = argv.some((word) => /^svc(?:\.service)?$/.test(word))
      const starts = argv.includes('--now') || /^(?:start|restart)$/.test(argv[0] ?? '')
      if (!isOurs || !(starts || argv[0] === 'stop')) return
      await stop()
      if (starts) running = await startServe(['serve'], { cwd, env })
    },
    stop,
  }
}

/**
 * Starts `svc serve` in this process, and waits for its first answer: a process of its own took 1.5 s of CPU. It is almost
 * silent, because its log goes to the stdout of the process.
 * @throws Error with its output if it ends before.
 */
export async function startServe(
  argv: readonly string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv & { PORT: string } },
): Promise<Running> {
  const running = start(argv, { cwd, env: { ...env, SVC_LOG_LEVEL: 'fatal' } })
  let isOver = false
  void running.ended.then(() => {
    isOver = true
  })
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    if ((await answers(env.PORT)) && !isOver) return running
    if (isOver || Date.now() > deadline) {
      const fault = running.stderr()
      await running.stop()
      throw new Error(`no answer of serve: ${fault}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function answers(port: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/health`)
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false
  }
}

/** A port on which nothing listens. */
export async function freePort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}
