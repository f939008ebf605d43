import type { ErrorDetail } from '../contract/errors.ts'
import { emailAddress } from '../contract/fields/email-address.ts'
import type { Channel, Content, EmailContent } from '../contract/resources/content.ts'
import { isUsable } from '../rules/sending-domain.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Decides whether a workspace may send e-mails from an address. */
export interface FromRule {
  /** The fault if the domain of the address is not a verified sending domain of the workspace; otherwise null. */
  fault(workspaceId: string, from_address: string): Promise<ErrorDetail | null>
}

export function createFromRule({
  storage,
  runtime,
}: {
  storage: Pick<Storage, 'read'>
  runtime: Pick<Runtime, 'now'>
}): FromRule {
  return {
    async fault(workspaceId, from_address) {
      const domain = emailAddress(from_address)?.domain ?? ''
      const row = await storage.read.sendingDomains.byName(workspaceId, domain)
      if (row && isUsable(row, runtime.now())) return null
      const next = row
        ? `publish its DNS records, then call POST /api/v1/domains/${row.id}/verify`
        : 'add it with POST /api/v1/domains'
      return {
        path: 'content.from_address',
        message: `The domain ${domain} is not a verified sending domain of this workspace: ${next}`,
      }
    },
  }
}

/** The address that the request set for the header `From`; null if the service chooses it. */
export function fromAddressOf({
  channel,
  content,
}: {
  channel: Channel
  content: Content
}): string | null {
  if (channel !== 'email') return null
  return (content as EmailContent).from_address ?? null
}
