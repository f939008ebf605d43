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
 * Reads the secret of the option or the environment.
 * @throws Failure when there is no secret, and for a secret that cannot sign.
 */
export async function secretOf({ secret }: SecretOption, { env }: ProcessIo): Promise<string> {
  const text = secret ?? env.SVC_WEBHOOK_SECRET
  if (!text) throw usage('give the secret with --secret or SVC_WEBHOOK_SECRET')
  return usableSecret(text)
}

/**
 * Checks a secret and returns it.
 * @throws Failure for a secret that cannot sign.
 */
export async function usableSecret(secret: string): Promise<string> {
  const { verify } = await import('@svc/core/webhooks')
  const result = verify({ secret, body: '' })
  if (result.ok || result.reason !== 'secret_unusable') return secret
  throw usage(`the secret is invalid. ${result.hint}`)
}

/**
 * Checks the address of a receiver and returns it.
 * @throws Failure when `text`, the value of `option`, is not an http or https address.
 */
export function receiverUrl(text: string, option: string): string {
  const protocol = URL.canParse(text) ? new URL(text).protocol : ''
  if (protocol === 'http:' || protocol === 'https:') return text
  throw usage(`${option} must be an http or https address, got "${text}"`)
}
