import { expect, it } from 'vitest'
import type { Payment } from './payment.ts'
import { createSandboxPayments } from './sandbox.ts'

const now = () => new Date('2026-05-04T09:00:00Z')

const payment: Payment = {
  session_id: 'cs_sandbox_1',
  status: 'pending',
  amount: 1_000,
  currency: 'USD',
  expires_at: new Date('2026-05-04T10:00:00Z'),
}

it('keeps a payment refunded in the process that took it when another process refunds it', async () => {
  const parts = { secret: 's', public_url: () => 'http://127.0.0.1:3000', now }
  const [server, operator] = [createSandboxPayments(parts), createSandboxPayments(parts)]
  await server.decide(payment, 'pay')
  const paid = { ...payment, status: 'paid' } as const
  await operator.refund(paid)
  expect(await operator.look(paid)).toMatchObject({ status: 'paid', reversed: 1_000 })
  const refunded = { ...payment, status: 'refunded' } as const
  await server.decide(refunded, 'pay')
  expect(await server.look(refunded)).toMatchObject({ status: 'paid', reversed: 1_000 })
})
