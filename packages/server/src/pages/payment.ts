import type { Purchase, SandboxPayments } from '@svc/core'
import { api, invalid, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { isLocal } from '../dev/local-only.ts'
import { answerFailure, noteFailure, unknownRoute } from '../failures.ts'
import { acceptForms } from './form-body.ts'
import { addPageHeaders, serveHandler } from './page.ts'
import {
  paymentCanceled,
  paymentFault,
  paymentForm,
  paymentPending,
  paymentResult,
  returnUrl,
} from './payment-html.ts'
import { type Frame, plainPageCsp } from './plain-page.ts'

const PATH = '/pay/:session_id'
const FORM_BYTES_MAX = 1024
const HTML = 'text/html; charset=utf-8'

/** A purchase that has a session. */
type Payable = Purchase & { session_id: string }

/**
 * The payment page of `svc dev`, for browsers on this machine only: Pay, Decline, Cancel. The choice reaches the service as
 * a signed notification, by the endpoint that a real payment provider calls.
 */
export function servePayments(
  app: FastifyInstance,
  admission: Admission,
  { core, payments, frame }: { core: DecodedCore; payments: SandboxPayments; frame: Frame },
): void {
  const { billing, workspaces } = core

  app.register(async (scope) => {
    acceptForms(scope)
    scope.setErrorHandler((error, request, reply) => {
      if (!isLocal(request)) return answerFailure(error, request, reply)
      const { message } = noteFailure(error, request, reply)
      reply.type(HTML).send(paymentFault(frame, message))
    })
    const page = { path: PATH, csp: plainPageCsp(), only: isLocal }
    serveHandler(scope, admission, page, async (request, reply) => {
      const purchase = await purchaseOf(request)
      allowRedirects(reply, purchase)
      const state = await payments.look(purchase)
      const status = state?.status ?? 'expired'
      const { name: workspace_name, credits_balance: balance } = await workspaces.account(
        purchase.workspace_id,
      )
      reply.type(HTML)
      if (status !== 'open') {
        return paymentResult(frame, status, { purchase, balance, is_sandbox: true })
      }
      const package_name = packageName(purchase)
      return paymentForm(frame, { purchase, package_name, workspace_name, balance })
    })
    scope.route({
      method: 'POST',
      url: PATH,
      config: { page: 'anonymous' },
      bodyLimit: FORM_BYTES_MAX,
      async onRequest(request, reply) {
        await admission.admitVisitor('anonymous', request, reply)
        if (!isLocal(request)) throw unknownRoute()
        addPageHeaders(reply, plainPageCsp())
      },
      async handler(request, reply) {
        const purchase = await purchaseOf(request)
        allowRedirects(reply, purchase)
        const { decision } = (request.body ?? {}) as { decision?: unknown }
        return decide(purchase, decision, reply)
      },
    })
  })

  async function purchaseOf({ params }: FastifyRequest): Promise<Payable> {
    const { session_id } = params as { session_id: string }
    const purchase = await billing.bySession(session_id)
    if (purchase) return { ...purchase, session_id }
    throw new SvcError('not_found', 'There is no such checkout')
  }

  /** A package that is not sold any more has only its id. */
  function packageName({ package_id }: Payable): string {
    return billing.packages().find(({ id }) => id === package_id)?.name ?? package_id
  }

  async function decide(purchase: Payable, decision: unknown, reply: FastifyReply) {
    if (decision === 'cancel') {
      const { cancel_url } = purchase
      if (cancel_url) return reply.redirect(returnUrl(cancel_url, purchase), 303)
      return reply.type(HTML).send(paymentCanceled(frame, purchase))
    }
    if (decision !== 'pay' && decision !== 'decline') {
      throw invalid('decision', 'decision must be pay, decline or cancel')
    }
    await notify(await payments.decide(purchase, decision))
    const state = await payments.look(purchase)
    const target = state?.status === 'paid' ? purchase.success_url : purchase.cancel_url
    // Without a target, the payer returns to this page and sees the result. A reload does not submit the form again.
    return reply.redirect(target ? returnUrl(target, purchase) : purchase.session_id, 303)
  }

  async function notify({ body, signature = '' }: Awaited<ReturnType<SandboxPayments['decide']>>) {
    const { method, path, signed_by } = api.billing.notify
    const { statusCode } = await app.inject({
      method,
      url: path,
      headers: { 'content-type': 'application/json', [signed_by]: signature },
      payload: Buffer.from(body),
    })
    if (statusCode !== 200) throw new Error(`the notification was answered ${statusCode}`)
  }
}

/** Allows the form's redirect to the URLs of the purchase; a browser would block a redirect to another origin. */
function allowRedirects(reply: FastifyReply, { success_url, cancel_url }: Payable): void {
  const targets = [success_url, cancel_url].flatMap((url) => (url ? [new URL(url).origin] : []))
  reply.header('content-security-policy', plainPageCsp(...new Set(targets)))
  // Without a referrer a browser sends the form with `Origin: null`, which `isLocal` refuses.
  reply.header('referrer-policy', 'same-origin')
}

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
