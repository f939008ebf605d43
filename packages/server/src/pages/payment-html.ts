import type { Purchase } from '@svc/core'
import { creditsOf } from '@svc/core/contract'
import { escapeHtml, notice, plainPage } from './plain-page.ts'

/** What a payment page says of how a payment stands. */
export type PaymentStatus = 'open' | 'paid' | 'failed' | 'expired'

/** Asks whether to pay. Its form comes back to where the page is. */
export function paymentForm(purchase: Purchase): string {
  const title = `Pay ${priceText(purchase)} for ${creditsText(purchase)}`
  return plainPage(
    title,
    `<p>This page plays the payment provider: no money moves. What you choose is told to the service as a real
provider would tell it.</p>
<form method="post" accept-charset="utf-8">
<button name="decision" value="pay">Pay ${escapeHtml(priceText(purchase))}</button>
<button class="quiet" name="decision" value="decline">Decline the payment</button>
<button class="quiet" name="decision" value="cancel">Cancel</button>
</form>`,
  )
}

/** Says what became of a payment. */
export function paymentResult(purchase: Purchase, status: Exclude<PaymentStatus, 'open'>): string {
  switch (status) {
    case 'paid':
      if (purchase.status === 'refunded' || purchase.status === 'disputed') return takenBack()
      return notice('Paid', `Thank you. ${creditsText(purchase)} for ${priceText(purchase)}.`)
    case 'failed':
      return notice('Payment declined', 'Nothing was paid, and no credits were added.')
    case 'expired':
      return notice('This checkout has ended', 'Nothing was paid. Begin a new one.')
  }
}

function takenBack(): string {
  return notice('This payment was taken back', 'Its credits were taken back too.')
}

/** Says that the payer may come back. */
export function paymentCanceled(): string {
  return notice('Canceled', 'Nothing was paid. Until it ends, this checkout can still be paid.')
}

/** `10.00 USD`; with as many digits as the currency has. */
export function priceText({ amount, currency }: Pick<Purchase, 'amount' | 'currency'>): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
  }).resolvedOptions()
  const number = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  return `${number.format(amount / 10 ** digits)} ${currency}`
}

function creditsText({ credits }: Pick<Purchase, 'credits'>): string {
  const number = creditsOf(credits).toLocaleString('en-US', { maximumFractionDigits: 6 })
  return `${number} ${number === '1' ? 'credit' : 'credits'}`
}
