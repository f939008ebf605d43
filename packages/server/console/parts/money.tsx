import { credits, number } from '../shell/format.ts'

/** Credits with their unit, or an amount of a currency. A debit has a minus sign. */
export function Money({ credits: amount, signed = false }: { credits: number; signed?: boolean }) {
  const sign = amount > 0 && signed ? '+' : amount < 0 ? '−' : ''
  return (
    <span class="money" title={`${sign}${number(Math.abs(amount))}`}>
      {sign}
      {credits(Math.abs(amount))}
    </span>
  )
}
