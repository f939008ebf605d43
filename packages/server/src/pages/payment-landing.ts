import type { Purchase } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { noteFailure } from '../failures.ts'
import { serveHandler } from './page.ts'
import { paymentFault, paymentPending, paymentResult } from './payment-html.ts'
import { type Frame, plainPageCsp } from './plain-page.ts'

const HTML = 'text/html; charset=utf-8'

/**
 * The page to which a payer returns from the payment provider if the checkout named no `success_url`. It changes
 * nothing. It needs no credential, because only the payer knows the session's id.
 */
export function serveLanding(
  app: FastifyInstance,
  admission: Admission,
  { core: { billing }, frame }: { core: DecodedCore; frame: Frame },
): void {
  app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => {
      const { message } = noteFailure(error, request, reply)
      reply.type(HTML).send(paymentFault(frame, message))
    })
    const page = { path: '/pay/:session_id', csp: plainPageCsp() }
    serveHandler(scope, admission, page, async (request, reply) => {
      const { session_id } = request.params as { session_id: string }
      const purchase = await billing.bySession(session_id)
      if (!purchase) throw new SvcError('not_found', 'There is no such checkout')
      return reply.type(HTML).send(landing(purchase, session_id))
    })
  })

  function landing(purchase: Purchase, session_id: string): string {
    const { status } = purchase
    if (status === 'pending') return paymentPending(frame, { session_id })
    const shown = status === 'failed' || status === 'expired' ? status : 'paid'
    // The balance is not shown, because the page needs no credential.
    return paymentResult(frame, shown, { purchase, balance: null, is_sandbox: false })
  }
}
