import { createHash, randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import type { Svc } from '@svc/client'
import type { Target } from '../connect/connection.ts'
import { type Explanation, Failure, usage } from '../process/failure.ts'
import { createAddressesSeen } from './addresses-seen.ts'
import type { BulkMessage } from './bulk-message.ts'
import type { InputFile } from './input-file.ts'
import type { RunState } from './read-results.ts'
import { FORMAT, type RunLine } from './results-file.ts'
import { NOTHING } from './totals.ts'

/** A new run, which has no result file yet. */
export function newRun(input: InputFile, message: BulkMessage, target: Target): RunState {
  const { scheduled_at } = message.request
  const run: RunLine = {
    type: 'run',
    format: FORMAT,
    run_id: randomUUID(),
    file: input.name,
    sha256: input.sha256,
    rows: input.rows,
    request_sha256: message.sha256,
    server: target.base_url,
    mode: modeOf(target),
    key_sha256: keyDigest(target),
    scheduled_at: scheduled_at === undefined ? null : String(scheduled_at),
    created_at: new Date().toISOString(),
  }
  const seen = createAddressesSeen()
  return {
    run,
    last_line: 1,
    totals: NOTHING,
    batches: 0,
    pending: null,
    bulk_id: null,
    seen,
    bytes: 0,
  }
}

/**
 * Checks that a run continues with the same file, content, server and workspace.
 * @throws Failure with the difference.
 */
export async function assertSameRun(
  { run, bulk_id }: RunState,
  {
    path,
    input,
    message,
    target,
    client,
  }: {
    path: string
    input: InputFile
    message: BulkMessage
    target: Target
    client: Svc
  },
): Promise<void> {
  const differs = (difference: string) =>
    usage(
      `${path} belongs to another run: ${difference}. Repeat the original command, or use another file with --results, or start again with --restart`,
    )
  if (run.sha256 !== input.sha256) throw differs(`${input.name} has changed since`)
  if (run.request_sha256 !== message.sha256) {
    throw differs('its content, sender, metadata, defaults or times were different')
  }
  if (run.server !== target.base_url) throw differs(`it was sent to ${run.server}`)
  if (run.mode !== modeOf(target)) throw differs(`its API key was a ${run.mode} key`)
  if (run.key_sha256 === keyDigest(target)) return
  // Idempotency keys belong to a workspace: with an API key of another workspace, all messages would be sent again.
  if (bulk_id === null) throw differs('it was started with another API key')
  await client.bulks.get(bulk_id).catch((error: unknown) => {
    const { code } = error as { code?: unknown }
    throw code === 'not_found' ? differs('its API key belonged to another workspace') : error
  })
}

/** Renames a result file, and returns its new path. */
export async function moveAside(path: string, { run }: RunState): Promise<string> {
  const aside = `${path}.${run.run_id}`
  await rename(path, aside)
  return aside
}

/** The failure of a run that stopped early. Its message says how to continue. */
export function stoppedEarly(
  { error, message, exit_code }: Explanation,
  { totals, run }: RunState,
): Failure {
  const progress = `${totals.rows} of ${run.rows.toLocaleString('en')} rows are finished; run the same command again to continue`
  const code = exit_code === 2 || exit_code === 3 ? exit_code : 1
  return new Failure(error, `${message.replace(/\.$/, '')}: ${progress}`, code)
}

function modeOf({ api_key }: Target): RunLine['mode'] {
  return api_key.startsWith('svc_test_') ? 'test' : 'live'
}

function keyDigest({ api_key }: Target): string {
  return createHash('sha256').update(api_key).digest('hex').slice(0, 16)
}
