import { delimiter, join } from 'node:path'
import { runCommand } from '../../scripts/packages/run-command.ts'
import { type Client, scenarioFile } from './clients.ts'
import type { Scenario, Stage } from './stage.ts'

const SCENARIO_LIMIT_MS = 3 * 60_000

/** One promise of a scenario. */
export interface Check {
  name: string
  /** Why it failed; null if it passed, or if this version of the client has no function for it. */
  fault: string | null
  /** Whether this version of the client has a function for it. */
  exists: boolean
}

/** The result of a client. */
export interface Result {
  client: Client
  version: string
  checks: readonly Check[]
  /** Why the scenario did not come to its end; null if it did. */
  fault: string | null
}

/** Plays the scenario of a client in a process of its own. */
export async function playScenario(
  client: Client,
  version: string,
  { folder, stage }: { folder: string; stage: Stage },
): Promise<Result> {
  const scenario: Scenario = { folder, module: client.name, ...(await stage.places()) }
  const file = scenarioFile(client)
  const command = file.endsWith('.py') ? ['python3', file] : [process.execPath, file]
  const env = {
    SCENARIO: JSON.stringify(scenario),
    // Old versions of the package read their address only from here.
    RESEND_BASE_URL: `${scenario.service.url}/compat/resend`,
    NODE_PATH: [join(folder, 'node_modules'), process.env.NODE_PATH]
      .filter(Boolean)
      .join(delimiter),
  }
  const ended = await runCommand(command, { cwd: folder, limit_ms: SCENARIO_LIMIT_MS, env })
  const lines = ended.output.split('\n')
  const checks = lines.filter((line) => line.startsWith('{"name":')).map((line) => readCheck(line))
  const isWhole = ended.isOk && lines.includes('end of the scenario') && checks.length > 0
  return { client, version, checks, fault: isWhole ? null : ended.output }
}

function readCheck(line: string): Check {
  return JSON.parse(line) as Check
}
