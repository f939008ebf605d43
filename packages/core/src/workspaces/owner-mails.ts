import { emailAddress } from '../contract/fields/email-address.ts'
import type { Mail } from '../contract/outside/mail.ts'
import type { Outbox } from '../mail/outbox.ts'
import {
  type Envelope,
  frozenMail,
  invitationMail,
  lowBalanceMail,
  resetMail,
  verifyMail,
  webhookMail,
} from '../mail/templates.ts'
import type { FrozenWorkspace } from '../messages/sequence-detector.ts'
import type { OwnerMailRow, WorkspaceRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { LowBalance, WebhookNotice } from '../storage/ports/stores.ts'
import { loginByEmail } from './logins.ts'
import { mintToken, type TokenPurpose } from './token.ts'

/** The minimum time between two mails of one kind to a workspace, over all servers of a database. */
const NOTIFY_EVERY_MS = 60 * 60 * 1000

/** Mails to the owner of a workspace about the account. */
export interface OwnerMails {
  /** Sends the verification mail with a stored token. */
  verifyWith(owner: Pick<WorkspaceRow, 'id' | 'email'>, token: string): void
  /** Sends a verification mail if a workspace has the address and it is not verified. Returns false if too many mails wait. */
  verify(email: string): boolean
  /** Sends a mail to reset the password if a login has the address. Returns false if too many mails wait. */
  reset(email: string): boolean
  /** Sends an invitation with a stored token. Returns false if too many mails wait. */
  invite(email: string, invitation: { token: string; owner_email: string }): boolean
  /** Notifies the owner of low credits: at a verified address, at most once an hour. */
  lowBalance(low: LowBalance): void
  /** Notifies the owner of a frozen workspace: at a verified address, at most once an hour. */
  frozen(frozen: FrozenWorkspace): void
  /**
   * Notifies the owner of the webhooks whose notices are due when the mail is composed: at a verified address, at most once an hour.
   * Records that the owner was notified after the mail server took the mail, so that a crash repeats a mail and loses none. Returns
   * false if too many mails wait.
   */
  webhooks(workspaceId: string): boolean
}

/**
 * Looks an address up after the response, so that neither the response's time nor its text shows whether an account has the
 * address. `public_url` and `console_url` are read for each link.
 */
export function createOwnerMails({
  storage,
  runtime,
  outbox,
  public_url,
  console_url,
  brand,
}: {
  storage: Storage
  runtime: Runtime
  outbox: Outbox
  public_url: () => string
  /** Null if no console is served. */
  console_url: (() => string) | null
  /** The name of the service in the mails. */
  brand: string
}): OwnerMails {
  const write: Record<TokenPurpose, (owner: Pick<WorkspaceRow, 'email'>, token: string) => Mail> = {
    verify_email: ({ email }, token) =>
      verifyMail(envelopeTo(email), `${public_url()}/verify-email?token=${token}`),
    reset_password: ({ email }, token) =>
      resetMail(envelopeTo(email), `${public_url()}/reset-password?token=${token}`),
  }

  /** The link to a page of the console; null without a console. */
  const pageAt = (path: string) => console_url && `${console_url()}${path}`

  const envelopeTo = (email: string): Envelope => ({ brand, to: addressOf(email) })

  async function compose(email: string, purpose: TokenPurpose): Promise<Mail | null> {
    const owner = await loginByEmail(storage.read, email)
    if (!owner || (purpose === 'verify_email' && owner.email_verified)) return null
    const { token, row } = mintToken(runtime, owner.id, purpose)
    await storage.write(({ accountTokens }) => accountTokens.issue(row))
    return write[purpose](owner, token)
  }

  /** Queues a mail to an address that any client may have entered. */
  function queue(email: string, kind: TokenPurpose): boolean {
    const address = emailAddress(email)?.address
    return outbox.add(() => compose(email, kind), { kind, ...(address && { address }) })
  }

  /** Queues a mail to the owner, unless a mail of the same kind was sent within the hour. */
  function notify(
    workspace_id: string,
    kind: OwnerMailRow['kind'],
    mailTo: (envelope: Envelope) => Mail,
  ): void {
    outbox.add(
      async () => {
        const owner = await storage.read.workspaces.byId(workspace_id)
        if (!owner?.email_verified) return null
        const mail = { workspace_id, kind, mailed_at: runtime.now() }
        const isDue = await storage.write(({ ownerMails }) =>
          ownerMails.claim(mail, NOTIFY_EVERY_MS),
        )
        return isDue ? mailTo(envelopeTo(owner.email)) : null
      },
      { kind, workspace_id },
    )
  }

  return {
    verifyWith: (owner, token) =>
      void outbox.add(async () => write.verify_email(owner, token), {
        kind: 'verify_email',
        workspace_id: owner.id,
        address: addressOf(owner.email),
      }),
    invite: (email, { token, owner_email }) => {
      const address = addressOf(email)
      const link = `${public_url()}/accept-invitation?token=${token}`
      return outbox.add(async () => invitationMail(envelopeTo(email), link, owner_email), {
        kind: 'invitation',
        address,
      })
    },
    verify: (email) => queue(email, 'verify_email'),
    reset: (email) => queue(email, 'reset_password'),
    lowBalance: (low) =>
      notify(low.workspace_id, 'low_balance', (envelope) =>
        lowBalanceMail(envelope, low, pageAt('/credits')),
      ),
    webhooks(workspace_id) {
      let notices: readonly WebhookNotice[] = []
      return outbox.add(
        async () => {
          notices = await storage.write(async ({ webhookNotices, ownerMails }) => {
            const due = await webhookNotices.take(workspace_id)
            if (due.length === 0) return []
            const mailed_at = runtime.now()
            const mail = { workspace_id, kind: 'webhook_failure', mailed_at } as const
            return (await ownerMails.claim(mail, NOTIFY_EVERY_MS)) ? due : []
          })
          const [first, ...others] = notices
          const owner = first && (await storage.read.workspaces.byId(workspace_id))
          if (!owner) return null
          const page = others.length === 0 ? `/webhooks/${first.id}` : '/webhooks'
          return webhookMail(envelopeTo(owner.email), notices, pageAt(page))
        },
        { kind: 'webhook_failure', workspace_id, is_repeated: true },
        () => storage.write(({ webhookNotices }) => webhookNotices.told(workspace_id, notices)),
      )
    },
    frozen: (frozen) =>
      notify(frozen.workspace_id, 'account_frozen', (envelope) =>
        frozenMail(envelope, frozen, pageAt('/keys')),
      ),
  }
}

/** The address with an international domain in its ASCII form. */
function addressOf(email: string): string {
  const known = emailAddress(email)
  if (!known) throw new Error('the workspace has an invalid address')
  return known.address
}
