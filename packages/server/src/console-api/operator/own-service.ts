import { join } from 'node:path'
import type { Core } from '@svc/core'
import {
  checkBackups,
  checkDatabase,
  checkDomains,
  checkFolder,
  checkLedger,
  checkProgram,
  checkProviders,
  checkReplicas,
  checkSecrets,
  checkVerifications,
  checkWebhooks,
  checkWork,
  type Finding,
  findingsOf,
  reasonOf,
} from '../../doctor/doctor.ts'
import { fileOf } from '../../scheduled-backups.ts'
import type { Config } from '../../settings/config.ts'
import type { ShownSetting } from '../../settings/shown.ts'
import { SETTINGS } from '../../settings/table.ts'
import { targetsOf } from '../../settings/webhook-targets.ts'
import type { OperatorService } from './service.ts'

/** What the pages of operators know about a service that `startServer` runs. */
export function ownService(
  config: Config,
  { dev, made_by, settings }: { dev: boolean; made_by: string; settings: readonly ShownSetting[] },
): OperatorService {
  const { data_dir } = config
  const database_url = config.database_direct_url ?? config.database_url
  const isFile = database_url.startsWith('file:')
  const summaries = new Map(SETTINGS.map(({ env, summary }) => [env, summary]))
  return {
    database_url,
    made_by,
    backups: isFile ? (config.backups ?? { dir: join(data_dir, 'backups'), every_ms: null }) : null,
    settings: settings.map(({ is_secret: _, ...setting }) => ({
      ...setting,
      summary: summaries.get(setting.env) ?? '',
    })),
    async checks(core: Core) {
      const now = () => new Date()
      const url = database_url
      const targets = targetsOf(config, { dev })
      const checks: [name: string, run: () => Promise<Finding[]>][] = [
        ['node', async () => checkProgram(process.version)],
        ['disk', async () => (isFile ? checkFolder(fileOf(url)) : [])],
        [
          'database',
          async () => (await checkDatabase(url, { thorough: false, now, apart: true })).findings,
        ],
        ['replica', () => checkReplicas(url, config)],
        ['ledger', () => checkLedger(url, { thorough: false, apart: true })],
        ['secrets', () => checkSecrets(core)],
        ['queue', () => checkWork(core)],
        ['providers', () => checkProviders(core, { offline: false })],
        ['webhooks', () => checkWebhooks(core, { offline: false, targets })],
        ['domains', () => checkDomains(core)],
        ['codes', () => checkVerifications(core)],
        ['backups', () => checkBackups(config, now())],
      ]
      const found: Finding[] = []
      // One after the other: each of them may read much.
      for (const [name, run] of checks) found.push(...(await findingsOrError(name, run)))
      return found
    },
  }
}

/** An error of a check is a finding, so that the other checks are made. */
async function findingsOrError(name: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    return [findingsOf(name).error(reasonOf(error), 'the log of the server has the error')]
  }
}
