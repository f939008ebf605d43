import type { ResealOptions, ResealReport, SecretsStatus } from '@svc/core/operate'
import type { Command } from 'commander'
import { databaseFile, operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { Failure, misconfigured } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { progressBars } from '../show/progress-bar.ts'
import { counted } from '../show/text.ts'

/** Adds `svc secrets`: the encryption of the secrets in the database. */
export function addSecrets(program: Command, context: Context): void {
  const secrets = program
    .command('secrets')
    .summary('encrypt the secrets in the database, and change their key')
    .description(
      `Shows the keys that encrypt the secrets in the database, and encrypts the secrets with another key. The secrets
are those of sessions and providers, and the secrets and headers of webhooks. The server may run meanwhile. The keys come from SVC_SECRETS_KEY or
SVC_SECRETS_KEY_FILE: the first key encrypts, all keys decrypt. Only the id of a key is shown, never the key.`,
    )
  withExamples(secrets, 'svc secrets status', 'svc secrets encrypt')

  const status = secrets
    .command('status')
    .summary('count the values by their key')
    .description(
      'Counts the secrets in the database by the key that encrypts them, and those in plain text.',
    )
    .action(() => showStatus(context))
  withExamples(status, 'svc secrets status')

  const encrypt = secrets
    .command('encrypt')
    .summary('encrypt every value with the first key')
    .description(
      `Encrypts every secret with the first key: those in plain text, and those with another key, which you can remove
afterwards. Every running server must already have the first key. The command works in batches; after an interruption,
run it again to continue.`,
    )
    .action(() => encryptAll(context))
  withExamples(encrypt, 'svc secrets encrypt')

  const decrypt = secrets
    .command('decrypt')
    .summary('store every value as plain text again')
    .description(
      `Stores every secret as plain text again, after a confirmation. A server with a key continues to encrypt new
secrets: stop all servers first, or run the command again after the servers have started without a key.`,
    )
    .option('--yes', 'do not ask')
    .action((options: { yes?: boolean }) => decryptAll(context, options))
  withExamples(decrypt, 'svc secrets decrypt --yes')

  const discard = secrets
    .command('discard')
    .summary('discard the values whose key is lost')
    .description(
      `Discards every value that cannot be decrypted because its key is lost, after a confirmation. The service gets new
secrets: sessions end, and earlier unsubscribe links stop working. A webhook gets a new secret, loses its headers, and
is disabled; its owner rotates the secret to get a known one, and then enables the webhook. Stop all servers first, and
set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE to the keys that you still have.`,
    )
    .option('--yes', 'do not ask')
    .action((options: { yes?: boolean }) => discardLost(context, options))
  withExamples(discard, 'svc secrets discard --yes')
}

async function showStatus({ io, output }: Context): Promise<void> {
  const found = await withCore(io, (core) => core.secretsAtRest.status())
  if (output.isJson()) return output.document(found)
  output.table(
    ['KEY', 'VALUES', 'USE'],
    [
      ...found.keys.map(({ key_id, values, is_given }) => [
        key_id,
        String(values),
        is_given
          ? useOf(key_id, found)
          : { text: 'missing: these values cannot be read', style: 'red' as const },
      ]),
      ['plain text', String(found.plain), found.key_id === null ? 'stores new values' : ''],
    ],
  )
}

function useOf(key_id: string, { key_id: first }: SecretsStatus): string {
  return key_id === first ? 'encrypts new values' : 'decrypts'
}

async function encryptAll(context: Context): Promise<void> {
  const { io, output } = context
  await withCore(io, async (core) => {
    const { key_id } = await core.secretsAtRest.status()
    if (key_id === null) {
      throw misconfigured(
        'there is no key: set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE (openssl rand -base64 32 creates one)',
      )
    }
    const report = await withProgress(context, core.secretsAtRest.encrypt)
    const after = await core.secretsAtRest.status()
    if (output.isJson()) output.document({ key_id, ...report })
    else {
      output.line(
        `Encrypted ${counted(report.changed, 'value')} with the key ${key_id}; ${report.unchanged} already were.`,
      )
      noteUnused(context, after)
      if (report.changed > 0 && databaseFile(io) !== null) {
        output.note(
          'Unused pages of the file, and older backups, may still contain the old values: make a new backup, and delete older ones.',
        )
      }
    }
    assertWhole(report)
  })
}

async function decryptAll(context: Context, { yes }: { yes?: boolean }): Promise<void> {
  const { io, output } = context
  if (!yes) await confirm(io, 'Store every secret in the database as plain text?')
  await withCore(io, async (core) => {
    const report = await withProgress(context, core.secretsAtRest.decrypt)
    if (output.isJson()) output.document(report)
    else
      output.line(
        `Decrypted ${counted(report.changed, 'value')}; ${report.unchanged} already were plain text.`,
      )
    assertWhole(report)
  })
}

async function discardLost(context: Context, { yes }: { yes?: boolean }): Promise<void> {
  const { io, output } = context
  await withCore(io, async (core) => {
    const { keys } = await core.secretsAtRest.status()
    const lost = keys.filter(({ is_given }) => !is_given)
    const ids = lost.map(({ key_id }) => key_id).join(', ') || 'no missing key'
    if (!yes) await confirm(io, `Discard permanently all values that are encrypted with ${ids}?`)
    const report = await withProgress(context, core.secretsAtRest.discard)
    if (output.isJson()) return output.document(report)
    output.line(
      `Discarded ${counted(report.secrets, 'secret')} of the service, secrets of ${counted(report.webhooks, 'webhook')}, and keys of ${counted(report.domains, 'sending domain')}.`,
    )
  })
}

/** Runs the work with a progress bar. The stop signal of the run stops it. */
async function withProgress<Report>(
  { io, output }: Context,
  work: (options: ResealOptions) => Promise<Report>,
): Promise<Report> {
  const signal = stopSignalOf(io)
  const bars = progressBars(io, { isQuiet: output.isJson() })
  const onProgress = (progress: { done: number; total: number }) =>
    bars.report({ name: 'rows', ...progress })
  const actor = operatorOf(io)
  const report = await work({ signal, onProgress, actor }).finally(bars.end)
  if (signal.aborted) throw new Failure('stopped', 'stopped: run the command again to continue')
  return report
}

function noteUnused({ output }: Context, { keys, key_id }: SecretsStatus): void {
  for (const key of keys) {
    if (key.key_id === key_id || !key.is_given || key.values > 0) continue
    output.note(
      `The key ${key.key_id} encrypts no value in the database; older backups may need it.`,
    )
  }
}

function assertWhole({ unreadable }: ResealReport): void {
  if (unreadable === 0) return
  throw new Failure(
    'incomplete',
    `${counted(unreadable, 'value')} cannot be decrypted, and did not change: svc secrets status shows whether a key is missing`,
  )
}
