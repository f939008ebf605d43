import { createHash, randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import type { Client } from '@svc/core/contract'
import type { Target } from '../connect/connection.ts'
import { type Explanation, Failure, usage } from '../process/failure.ts'
import { createAddressesSeen } from './addresses-seen.ts'
import type { BulkMessage } from './bulk-message.ts'
import type { InputFile } from './input-file.ts'
import type { RunState } from './read-results.ts'
import { FORMAT, type RunLine } from './results-file.ts'
import { NOTHING } from './totals.ts'

/** A run that begins now: nothing of it is on the disk yet. */
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
 * Lets a run go on only where it is still the same: file, content, server and workspace.
 * @throws Failure naming what is not.
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
    client: Client
  },
): Promise<void> {
  const differs = (what: string) =>
    usage(
      `${path} is of another run: ${what}. Give what was given then, or name another file with --results, or begin anew with --restart`,
    )
  if (run.sha256 !== input.sha256) throw differs(`${input.name} has changed since`)
  if (run.request_sha256 !== message.sha256) {
    throw differs('its content, sender, metadata, defaults or times were others')
  }
  if (run.server !== target.base_url) throw differs(`it was sent to ${run.server}`)
  if (run.mode !== modeOf(target)) throw differs(`its API key was a ${run.mode} key`)
  if (run.key_sha256 === keyDigest(target)) return
  // Answers are kept by workspace: with a key of another one, everything would be sent again.
  if (bulk_id === null) throw differs('it was begun with another API key')
  await client.bulks.get({ id: bulk_id }).catch((error: unknown) => {
    const { code } = error as { code?: unknown }
    throw code === 'not_found' ? differs('its API key was of another workspace') : error
  })
}

/** Puts a result file out of the way, and answers where it is now. */
export async function putAside(path: string, { run }: RunState): Promise<string> {
  const aside = `${path}.${run.run_id}`
  await rename(path, aside)
  return aside
}

/** Why a run did not come to its end, and how it goes on. */
export function stoppedShort(
  { error, message, exit_code }: Explanation,
  { totals, run }: RunState,
): Failure {
  const how = `${totals.rows} of ${run.rows} rows are dealt with, and the same command goes on from there`
  const code = exit_code === 2 || exit_code === 3 ? exit_code : 1
  return new Failure(error, `${message.replace(/\.$/, '')}: ${how}`, code)
}

function modeOf({ api_key }: Target): RunLine['mode'] {
  return api_key.startsWith('svc_test_') ? 'test' : 'live'
}

function keyDigest({ api_key }: Target): string {
  return createHash('sha256').update(api_key).digest('hex').slice(0, 16)
}
