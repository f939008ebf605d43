import type { SecretRow, WebhookRow } from '../../rows/rows.ts'
import type { Sealed } from '../../rows/sealed.ts'

/** A secret that the service made for itself. */
export interface SecretReads {
  byName(name: string): Promise<Sealed | null>
}

export interface SecretWrites {
  /** Keeps the secret unless one of that name is there, and answers the one that is kept. */
  keepFirst(secret: SecretRow): Promise<Sealed>
}

/** What a webhook keeps of secrets. */
export type WebhookSecretColumns = Pick<
  WebhookRow,
  'workspace_id' | 'id' | 'secret' | 'previous_secret' | 'accepted_secret' | 'headers'
>

/** All secrets, of the service and of every workspace, as the database keeps them: for their re-encryption alone. */
export interface SealedValueReads {
  /** How many values are encrypted with which key; null for those in plain text. */
  forms(): Promise<{ key_id: string | null; count: number }[]>
  /** How many rows there are that may have such values. */
  countRows(): Promise<{ secrets: number; webhooks: number }>
}

export interface SealedValueWrites {
  /** The first `limit` secrets of the service whose name is beyond `after`, locked until the transaction ends. */
  lockSecrets(after: string, limit: number): Promise<SecretRow[]>
  changeSecret(name: string, value: Sealed): Promise<void>
  removeSecret(name: string): Promise<void>
  /** The first `limit` webhooks beyond that one, by workspace and id, locked until the transaction ends. */
  lockWebhooks(
    after: { workspace_id: string; id: string },
    limit: number,
  ): Promise<WebhookSecretColumns[]>
  changeWebhook(
    workspaceId: string,
    webhookId: string,
    change: Partial<Omit<WebhookSecretColumns, 'workspace_id' | 'id'>>,
  ): Promise<void>
}
