import { apiKeys } from './resources/api-keys.ts'
import { audit } from './resources/audit.ts'
import { billing } from './resources/billing.ts'
import { bulks } from './resources/bulk.ts'
import { contacts } from './resources/contacts.ts'
import { health } from './resources/health.ts'
import { messagesFor } from './resources/messages.ts'
import { received } from './resources/received.ts'
import { suppressions } from './resources/suppressions.ts'
import { webhooks } from './resources/webhooks.ts'
import { workspaces } from './resources/workspaces.ts'

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
