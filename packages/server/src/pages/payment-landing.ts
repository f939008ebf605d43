import type { Purchase } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { noteFailure } from '../failures.ts'
import { serveHandler } from './page.ts'
import { paymentResult } from './payment-html.ts'
import { notice, plainPageCsp } from './plain-page.ts'

const HTML = 'text/html; charset=utf-8'

/**
 * The page to which a payer returns from the payment provider if the checkout named no `success_url`. It changes
 * nothing. It needs no credential, because only the payer knows the session's id.
 */
export function serveLanding(
  app: FastifyInstance,
  admission: Admission,
  { billing }: DecodedCore,
): void {
  app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => {
      const { message } = noteFailure(error, request, reply)
      reply.type(HTML).send(notice('That did not work', message))
    })
    const page = { path: '/pay/:session_id', csp: plainPageCsp() }
    serveHandler(scope, admission, page, async (request, reply) => {
      const { session_id } = request.params as { session_id: string }
      const purchase = await billing.bySession(session_id)
      if (!purchase) throw new SvcError('not_found', 'There is no such checkout')
      return reply.type(HTML).send(landing(purchase))
    })
  })
}

function landing(purchase: Purchase): string {
  const { status } = purchase
  if (status === 'pending') {
    return notice(
      'Your payment is being confirmed',
      'The credits are added when it is confirmed. Reload this page to see the result.',
    )
  }
  return paymentResult(purchase, status === 'failed' || status === 'expired' ? status : 'paid')
}
