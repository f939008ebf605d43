import { apiKeys } from './api-keys.ts'
import { audit } from './audit.ts'
import { billing } from './billing.ts'
import { bulks } from './bulk.ts'
import { contacts } from './contacts.ts'
import { health } from './health.ts'
import { messagesFor } from './messages.ts'
import { received } from './received.ts'
import { suppressions } from './suppressions.ts'
import { webhooks } from './webhooks.ts'
import { workspaces } from './workspaces.ts'

/** The whole API as a table: server, client, command line and documents are read off it. `voice`: calls are made. */
export const apiFor = ({ voice }: { voice: boolean }) =>
  ({
    workspaces,
    api_keys: apiKeys,
    messages: messagesFor({ voice }),
    bulks,
    received,
    contacts,
    suppressions,
    webhooks,
    billing,
    audit,
    health,
  }) as const

/** The API of a service without a voice provider. */
export const api = apiFor({ voice: false })
