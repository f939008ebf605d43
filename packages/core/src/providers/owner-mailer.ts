import type { Mailer } from '../contract/outside/mail.ts'
import type { InstalledProvider } from './installed.ts'

/**
 * Sends the service's own mails, from the name `brand`, through the first SMTP provider, which the first mail loads; null if
 * there is none.
 */
export function smtpMailerOf(
  providers: readonly InstalledProvider[],
  brand: string,
): (Mailer & { close(): Promise<void> }) | null {
  const [settings] = providers.flatMap(({ source }) =>
    source?.from === 'settings' && source.settings.type === 'smtp' ? [source.settings] : [],
  )
  if (!settings) return null
  let opening: Promise<Mailer & { close(): void }> | null = null
  async function open() {
    const { createSmtpMailer } = await import('./smtp/smtp-mailer.ts')
    return createSmtpMailer(settings as NonNullable<typeof settings>, brand)
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
