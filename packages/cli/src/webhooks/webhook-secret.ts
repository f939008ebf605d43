import type { Command } from 'commander'
import { usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** The option of `withSecret`. */
export interface SecretOption {
  secret?: string
}

/** Adds `--secret`. */
export function withSecret(command: Command): Command {
  return command.option(
    '--secret <whsec>',
    'the secret of the webhook (default: SVC_WEBHOOK_SECRET)',
  )
}

/**
 * The secret that was given by option or environment.
 * @throws Failure when there is none, or one that nothing can be signed with.
 */
export async function secretOf({ secret }: SecretOption, { env }: ProcessIo): Promise<string> {
  const given = secret ?? env.SVC_WEBHOOK_SECRET
  if (!given) throw usage('give the secret with --secret or SVC_WEBHOOK_SECRET')
  return usableSecret(given)
}

/**
 * The secret itself.
 * @throws Failure for one that nothing can be signed with.
 */
export async function usableSecret(secret: string): Promise<string> {
  const { verify } = await import('@svc/core/webhooks')
  const tried = verify({ secret, body: '' })
  if (tried.ok || tried.reason !== 'secret_unusable') return secret
  throw usage(`the secret cannot be one. ${tried.hint}`)
}

/**
 * An address that deliveries can go to.
 * @throws Failure when `text`, the value of `option`, is none.
 */
export function receiverUrl(text: string, option: string): string {
  const protocol = URL.canParse(text) ? new URL(text).protocol : ''
  if (protocol === 'http:' || protocol === 'https:') return text
  throw usage(`${option} must be an http or https address, got "${text}"`)
}
