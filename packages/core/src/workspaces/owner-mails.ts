import { emailAddress } from '../contract/email-address.ts'
import type { LowBalance } from '../credits/low-balance-store.ts'
import type { Mail } from '../mail/mail.ts'
import type { Outbox } from '../mail/outbox.ts'
import { frozenMail, lowBalanceMail, resetMail, verifyMail } from '../mail/templates.ts'
import type { Frozen } from '../messages/sequence-guard.ts'
import type { Runtime } from '../runtime.ts'
import type { Storage, WorkspaceRow } from '../storage/storage.ts'
import { mintToken, type TokenPurpose } from './token.ts'

/** The mails that an owner gets about the account itself. */
export interface OwnerMails {
  /** Sends what verifies the address, with a token that is stored already; false when too many mails are waiting. */
  verifyWith(owner: Pick<WorkspaceRow, 'email'>, token: string): boolean
  /** Sends it to whoever has that address, if it is to be verified still; false as above, whoever has it. */
  verify(email: string): boolean
  /** Sends what resets the password to whoever has that address; false as above, whoever has it. */
  reset(email: string): boolean
  /** Tells the owner of a workspace that its credits ran low; false when too many mails are waiting. */
  lowBalance(low: LowBalance): boolean
  /** Tells the owner of a workspace that it was frozen; false when too many mails are waiting. */
  frozen(frozen: Frozen): boolean
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

  return {
    verifyWith: (owner, token) => outbox.add(async () => write.verify_email(owner, token)),
    verify: (email) => outbox.add(() => compose(email, 'verify_email')),
    reset: (email) => outbox.add(() => compose(email, 'reset_password')),
    lowBalance: (low) =>
      outbox.add(async () => {
        const owner = await storage.read.workspaces.byId(low.workspace_id)
        return owner && lowBalanceMail(addressOf(owner.email), low)
      }),
    frozen: (frozen) =>
      outbox.add(async () => {
        const owner = await storage.read.workspaces.byId(frozen.workspace_id)
        return owner && frozenMail(addressOf(owner.email), frozen)
      }),
  }
}

/** International domains as mail servers know them. */
function addressOf(email: string): string {
  const known = emailAddress(email)
  if (!known) throw new Error('no workspace has an address that is none')
  return known.address
}
