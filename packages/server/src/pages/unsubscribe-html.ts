import { escapeHtml, notice, plainPage } from './plain-page.ts'

/** Asks before it does anything: programs that look at mails open links too. Its form comes back to where the page is. */
export function unsubscribeForm(from: string, address: string): string {
  return plainPage(
    'Unsubscribe',
    `<p>${escapeHtml(from)} will send no more e-mail to ${escapeHtml(address)}.</p>
<form method="post" accept-charset="utf-8">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Unsubscribe</button>
</form>`,
  )
}

export function unsubscribed(): string {
  return notice('Unsubscribed', 'You will get no more e-mail from this sender. That was all.')
}

export function unknownLink(): string {
  return notice('This link leads nowhere', 'Open the link of the mail again, all of it.')
}
