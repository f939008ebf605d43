import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeMigratedFile } from '../../core/test/migrated-file.ts'
import { newFolder, type Running, start } from './svc.ts'

/** The document of `svc dev --json`. */
export interface DevDocument {
  url: string
  api_key: string
  workspace: { id: string; email: string; credits_balance: number }
  password: string
  smtp_urls: string[]
  console: string
  data_dir: string
}

export interface DevServer extends DevDocument {
  /** The environment and folder in which a client command finds this server. */
  here: { env: NodeJS.ProcessEnv; cwd: string }
  running: Running
  close(): Promise<void>
}

/** Tests send more requests than the limit of a minute. */
const NO_LIMITS = {
  SVC_RATE_LIMIT_GENERAL: '100000/60',
  SVC_RATE_LIMIT_ANONYMOUS: '100000/60',
  SVC_RATE_LIMIT_FAILED_AUTH: '100000/60',
}

/** Starts the service in this process, with `more` in its environment, its own folder and its own port. */
export async function startDevServer(more: NodeJS.ProcessEnv = {}): Promise<DevServer> {
  const folder = newFolder()
  mkdirSync(join(folder.path, 'data'), { mode: 0o700 })
  await makeMigratedFile(join(folder.path, 'data/svc.db'))
  const here = { env: { ...NO_LIMITS, ...more, PORT: '0' }, cwd: folder.path }
  const running = start(['dev', '--json'], here)
  const [text] = await running.until(/^\{.*"api_key".*\}$/m)
  return {
    ...(JSON.parse(text) as DevDocument),
    here,
    running,
    async close() {
      await running.stop()
      folder.remove()
    },
  }
}
