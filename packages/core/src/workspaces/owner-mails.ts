import { emailAddress } from '../contract/fields/email-address.ts'
import type { Mail } from '../contract/outside/mail.ts'
import type { Outbox } from '../mail/outbox.ts'
import { frozenMail, lowBalanceMail, resetMail, verifyMail } from '../mail/templates.ts'
import type { FrozenWorkspace } from '../messages/sequence-guard.ts'
import type { OwnerMailRow, WorkspaceRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { LowBalance } from '../storage/ports/low-balances.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { mintToken, type TokenPurpose } from './token.ts'

/** From one mail about the same to the next, over all servers of a database. */
const TELL_EVERY_MS = 60 * 60 * 1000

/** The mails that an owner gets about the account itself. */
export interface OwnerMails {
  /** Sends what verifies the address, with a token that is stored already. */
  verifyWith(owner: Pick<WorkspaceRow, 'id' | 'email'>, token: string): void
  /** Sends it to the workspace of that address, if it is not verified; false when too many mails wait, whether there is one. */
  verify(email: string): boolean
  /** Sends what resets the password to the workspace of that address; false as above. */
  reset(email: string): boolean
  /** Tells the owner of a workspace that its credits ran low: at a verified address, at most once an hour. */
  lowBalance(low: LowBalance): void
  /** Tells the owner of a workspace that it was frozen: at a verified address, at most once an hour. */
  frozen(frozen: FrozenWorkspace): void
}

/**
 * Looks an address up only behind the answer: neither the time nor the text of that tells whether somebody has it.
 * `public_url` is asked for each link.
 */
export function createOwnerMails({
  storage,
  runtime,
  outbox,
  public_url,
}: {
  storage: Storage
  runtime: Runtime
  outbox: Outbox
  public_url: () => string
}): OwnerMails {
  const write: Record<TokenPurpose, (owner: Pick<WorkspaceRow, 'email'>, token: string) => Mail> = {
    verify_email: ({ email }, token) =>
      verifyMail(addressOf(email), `${public_url()}/verify-email?token=${token}`),
    reset_password: ({ email }, token) =>
      resetMail(addressOf(email), `${public_url()}/reset-password?token=${token}`),
  }

  async function compose(email: string, purpose: TokenPurpose): Promise<Mail | null> {
    const owner = await storage.read.workspaces.byEmail(email)
    if (!owner || (purpose === 'verify_email' && owner.email_verified)) return null
    const { token, row } = mintToken(runtime, owner.id, purpose)
    await storage.write(({ accountTokens }) => accountTokens.issue(row))
    return write[purpose](owner, token)
  }

  /** Promises a mail to an address that anybody may have typed in. */
  function promise(email: string, kind: TokenPurpose): boolean {
    const address = emailAddress(email)?.address
    return outbox.add(() => compose(email, kind), { kind, ...(address && { address }) })
  }

  /** Tells the owner what happens to the workspace, unless a mail of that kind told of it within the hour. */
  function tell(
    workspace_id: string,
    kind: OwnerMailRow['kind'],
    mailTo: (address: string) => Mail,
  ): void {
    outbox.add(
      async () => {
        const owner = await storage.read.workspaces.byId(workspace_id)
        if (!owner?.email_verified) return null
        const mail = { workspace_id, kind, mailed_at: runtime.now() }
        const isDue = await storage.write(({ ownerMails }) => ownerMails.claim(mail, TELL_EVERY_MS))
        return isDue ? mailTo(addressOf(owner.email)) : null
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
    verify: (email) => promise(email, 'verify_email'),
    reset: (email) => promise(email, 'reset_password'),
    lowBalance: (low) =>
      tell(low.workspace_id, 'low_balance', (address) => lowBalanceMail(address, low)),
    frozen: (frozen) =>
      tell(frozen.workspace_id, 'account_frozen', (address) => frozenMail(address, frozen)),
  }
}

/** International domains as mail servers know them. */
function addressOf(email: string): string {
  const known = emailAddress(email)
  if (!known) throw new Error('no workspace has an address that is none')
  return known.address
}
