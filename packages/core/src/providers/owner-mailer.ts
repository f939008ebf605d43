import type { Mailer } from '../contract/outside/mail.ts'
import type { ProviderSettings } from './registry.ts'

/** The service's own mails go through the first mail server there is, which is loaded when one is sent. */
export function smtpMailerOf(
  providers: readonly ProviderSettings[],
): (Mailer & { close(): Promise<void> }) | null {
  const settings = providers.find((one) => one.type === 'smtp')
  if (!settings) return null
  let opening: Promise<Mailer & { close(): void }> | null = null
  async function open() {
    const { createSmtpMailer } = await import('./smtp/smtp-mailer.ts')
    return createSmtpMailer(settings as NonNullable<typeof settings>)
  }
  return {
    async send(mail) {
      opening ??= open()
      await (await opening).send(mail)
    },
    async close() {
      ;(await opening)?.close()
    },
  }
}
