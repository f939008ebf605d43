import { type SvcProcess, spawnSvc } from '../../packages/cli/test/spawned.ts'
import { untilSeen } from '../../packages/cli/test/svc.ts'

const PATIENCE_MS = 60_000

/** The service of a machine, controlled as by its init system. */
export interface Service {
  /** Runs a `systemctl` command. */
  control(argv: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** A stopped service, with the environment of its unit. */
export function createService(cwd: string, env: NodeJS.ProcessEnv): Service {
  let running: SvcProcess | undefined
  const stop = async () => {
    running?.child.kill('SIGTERM')
    await running?.ended
    running = undefined
  }
  return {
    async control(argv) {
      const isOurs = argv.some((word) => /^svc(?:\.service)?$/.test(word))
      const starts = argv.includes('--now') || /^(?:start|restart)$/.test(argv[0] ?? '')
      if (!isOurs || !(starts || argv[0] === 'stop')) return
      await stop()
      if (!starts) return
      running = spawnSvc(['serve'], { cwd, env })
      await untilSeen(/"msg":"listening"/, running.stdout, running.ended, PATIENCE_MS)
    },
    stop,
  }
}
