import type { ApiKeyRow, SecretRow, SendingDomainRow, WebhookRow } from '../../rows/rows.ts'
import type { Sealed } from '../../rows/sealed.ts'

/** Secrets that the service generated for itself. */
export interface SecretReads {
  byName(name: string): Promise<Sealed | null>
}

export interface SecretWrites {
  /** Stores the secret, unless a secret with that name exists. Returns the stored secret. */
  keepFirst(secret: SecretRow): Promise<Sealed>
}

/** The columns of a webhook that contain secrets. */
export type WebhookSecretColumns = Pick<
  WebhookRow,
  'workspace_id' | 'id' | 'secret' | 'previous_secret' | 'accepted_secret' | 'headers'
>

/** An API key that the database has in a form that can be read. */
export type SigningKeyColumns = Pick<ApiKeyRow, 'workspace_id' | 'id'> & { sealed_key: Sealed }

/** The columns of a sending domain that contain private keys, and the selectors to which they are bound. */
export type DomainSecretColumns = Pick<
  SendingDomainRow,
  'workspace_id' | 'id' | 'selector' | 'private_key' | 'next_selector' | 'next_private_key'
>

/** All secrets, of the service and of every workspace, in their stored form: only for re-encryption. */
export interface SealedValueReads {
  /** The number of values for each encryption key; null stands for plain text. */
  forms(): Promise<{ key_id: string | null; count: number }[]>
  /** The number of rows that can contain such values. */
  countRows(): Promise<{ secrets: number; webhooks: number; api_keys: number; domains: number }>
}

export interface SealedValueWrites {
  /** The first `limit` secrets of the service whose names sort after `after`, locked until the transaction ends. */
  lockSecrets(after: string, limit: number): Promise<SecretRow[]>
  changeSecret(name: string, value: Sealed): Promise<void>
  removeSecret(name: string): Promise<void>
  /** The first `limit` webhooks after `after`, sorted by workspace and id, locked until the transaction ends. */
  lockWebhooks(
    after: { workspace_id: string; id: string },
    limit: number,
  ): Promise<WebhookSecretColumns[]>
  changeWebhook(
    workspaceId: string,
    webhookId: string,
    change: Partial<Omit<WebhookSecretColumns, 'workspace_id' | 'id'>>,
  ): Promise<void>
  /** The first `limit` API keys that sign after `after`, sorted by workspace and id, locked until the transaction ends. */
  lockSigningKeys(
    after: { workspace_id: string; id: string },
    limit: number,
  ): Promise<SigningKeyColumns[]>
  /** Sets the encrypted key, or removes it: then the API key does not sign any more. */
  changeSigningKey(workspaceId: string, keyId: string, sealedKey: Sealed | null): Promise<void>
  /** The first `limit` sending domains after `after`, sorted by workspace and id, locked until the transaction ends. */
  lockDomains(
    after: { workspace_id: string; id: string },
    limit: number,
  ): Promise<DomainSecretColumns[]>
}
