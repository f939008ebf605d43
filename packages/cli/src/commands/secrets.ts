import type { ResealOptions, ResealReport, SecretsStatus } from '@svc/core/operate'
import type { Command } from 'commander'
import { databaseFile, operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { Failure, misconfigured } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { progressBars } from '../show/progress-bar.ts'

/** Adds `svc secrets`: how the database's secrets are encrypted. */
export function addSecrets(program: Command, context: Context): void {
  const secrets = program
    .command('secrets')
    .summary('encrypt the secrets in the database, and change their key')
    .description(
      `Says with which keys the secrets in the database are encrypted, and encrypts them anew: those of sessions and providers,
and the secrets and headers of webhooks. The server may run meanwhile. The keys are those of SVC_SECRETS_KEY or
SVC_SECRETS_KEY_FILE: the first encrypts, all decrypt. A key is never shown, only its id.`,
    )
  withExamples(secrets, 'svc secrets status', 'svc secrets encrypt')

  const status = secrets
    .command('status')
    .summary('count the values by the key that they are encrypted with')
    .description(
      'Counts the secrets in the database by the key that they are encrypted with, and those in plain text.',
    )
    .action(() => showStatus(context))
  withExamples(status, 'svc secrets status')

  const encrypt = secrets
    .command('encrypt')
    .summary('encrypt every value with the first key')
    .description(
      `Encrypts every secret with the first key: those in plain text, and those encrypted with another key, which can be
removed afterwards. Every running server must have the first key already. Works in batches; interrupted, it goes on where
it was when it is run again.`,
    )
    .action(() => encryptAll(context))
  withExamples(encrypt, 'svc secrets encrypt')

  const decrypt = secrets
    .command('decrypt')
    .summary('store every value as plain text again')
    .description(
      `Stores every secret as plain text again. Asks first. A server that has a key goes on to encrypt what is new: run it while
none runs, or once more after the servers were started without a key.`,
    )
    .option('--yes', 'do not ask')
    .action((options: { yes?: boolean }) => decryptAll(context, options))
  withExamples(decrypt, 'svc secrets decrypt --yes')

  const discard = secrets
    .command('discard')
    .summary('give up the values whose key is lost')
    .description(
      `Gives up every value that cannot be decrypted, for a key that is lost for good. Asks first. The secrets of the service are
made anew: sessions end, and so do unsubscribe links that were sent before. A webhook gets a new secret, loses its headers
and is disabled; its owner rotates the secret to see one, and enables it. Run it while no server runs, with the keys that are
left.`,
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
          : { text: 'not given: these cannot be read', style: 'red' as const },
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
        'there is no key to encrypt with: set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE (openssl rand -base64 32 makes one)',
      )
    }
    const report = await followed(context, core.secretsAtRest.encrypt)
    const after = await core.secretsAtRest.status()
    if (output.isJson()) output.document({ key_id, ...report })
    else {
      output.line(
        `Encrypted ${sum(report.changed)} with the key ${key_id}; ${report.unchanged} were before.`,
      )
      noteUnused(context, after)
      if (report.changed > 0 && databaseFile(io) !== null) {
        output.note(
          'Unused pages of the file, and older backups, may still hold what was there before: see docs/operating/secrets.md.',
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
    const report = await followed(context, core.secretsAtRest.decrypt)
    if (output.isJson()) output.document(report)
    else
      output.line(`Decrypted ${sum(report.changed)}; ${report.unchanged} were plain text before.`)
    assertWhole(report)
  })
}

async function discardLost(context: Context, { yes }: { yes?: boolean }): Promise<void> {
  const { io, output } = context
  await withCore(io, async (core) => {
    const { keys } = await core.secretsAtRest.status()
    const lost = keys.filter(({ is_given }) => !is_given)
    const ids = lost.map(({ key_id }) => key_id).join(', ') || 'no key that is missing'
    if (!yes) await confirm(io, `Give up for good what is encrypted with ${ids}?`)
    const report = await followed(context, core.secretsAtRest.discard)
    if (output.isJson()) return output.document(report)
    output.line(
      `Gave up ${report.secrets} secrets of the service, and secrets of ${report.webhooks} webhooks.`,
    )
  })
}

/** Does it with a bar, until it is stopped. */
async function followed<Report>(
  { io, output }: Context,
  work: (options: ResealOptions) => Promise<Report>,
): Promise<Report> {
  const signal = stopSignalOf(io)
  const bars = progressBars(io, { isQuiet: output.isJson() })
  const onProgress = (progress: { done: number; total: number }) =>
    bars.report({ name: 'rows', ...progress })
  const actor = operatorOf(io)
  const report = await work({ signal, onProgress, actor }).finally(bars.end)
  if (signal.aborted) throw new Failure('stopped', 'stopped: run it again to go on')
  return report
}

function noteUnused({ output }: Context, { keys, key_id }: SecretsStatus): void {
  for (const key of keys) {
    if (key.key_id === key_id || !key.is_given || key.values > 0) continue
    output.note(
      `The key ${key.key_id} encrypts nothing in the database any more; older backups may need it.`,
    )
  }
}

function assertWhole({ unreadable }: ResealReport): void {
  if (unreadable === 0) return
  throw new Failure(
    'incomplete',
    `${sum(unreadable)} cannot be decrypted, and stay as they are: svc secrets status shows whether a key is missing`,
  )
}

function sum(values: number): string {
  return `${values} ${values === 1 ? 'value' : 'values'}`
}
