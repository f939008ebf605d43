// Made from the table of the API by `npm run docs`; a test compares the two.
import type { Endpoint } from '../transport/endpoint.ts'

/** The endpoints of the API, by group and method. */
export const ENDPOINTS = {
  workspaces: {
    signup: { method: 'POST', path: '/api/v1/auth/signup', auth: 'none', body: true, has: 'workspace' },
    login: { method: 'POST', path: '/api/v1/auth/login', auth: 'none', body: true, has: 'workspace' },
    logout: { method: 'POST', path: '/api/v1/auth/logout', auth: 'jwt', has: 'message' },
    verifyEmail: { method: 'POST', path: '/api/v1/auth/verify-email', auth: 'none', body: true, has: 'workspace' },
    resendVerification: { method: 'POST', path: '/api/v1/auth/resend-verification', auth: 'none', body: true, has: 'message' },
    forgotPassword: { method: 'POST', path: '/api/v1/auth/forgot-password', auth: 'none', body: true, has: 'message' },
    resetPassword: { method: 'POST', path: '/api/v1/auth/reset-password', auth: 'none', body: true, has: 'message' },
    changePassword: { method: 'POST', path: '/api/v1/auth/change-password', auth: 'jwt', body: true, has: 'message' },
    account: { method: 'GET', path: '/api/v1/account', auth: 'jwt', has: 'id' },
    balance: { method: 'GET', path: '/api/v1/balance', auth: 'jwt_or_api_key', has: 'credits_balance' },
    updateAccount: { method: 'PUT', path: '/api/v1/account', auth: 'jwt', body: true, has: 'id' },
  },
  members: {
    list: { method: 'GET', path: '/api/v1/members', auth: 'jwt', has: 'members' },
    update: { method: 'PUT', path: '/api/v1/members/:id', auth: 'jwt', body: true, has: 'member' },
    remove: { method: 'DELETE', path: '/api/v1/members/:id', auth: 'jwt', has: 'message' },
    endSessions: { method: 'POST', path: '/api/v1/members/:id/end-sessions', auth: 'jwt', body: true, has: 'message' },
    makeOwner: { method: 'POST', path: '/api/v1/members/:id/owner', auth: 'jwt', body: true, has: 'message' },
  },
  invitations: {
    list: { method: 'GET', path: '/api/v1/invitations', auth: 'jwt', has: 'invitations' },
    create: { method: 'POST', path: '/api/v1/invitations', auth: 'jwt', body: true, has: 'invitation' },
    delete: { method: 'DELETE', path: '/api/v1/invitations/:id', auth: 'jwt', has: 'message' },
    accept: { method: 'POST', path: '/api/v1/invitations/accept', auth: 'none', body: true, has: 'workspace' },
  },
  sessions: {
    list: { method: 'GET', path: '/api/v1/sessions', auth: 'jwt', has: 'sessions' },
    end: { method: 'DELETE', path: '/api/v1/sessions/:id', auth: 'jwt', has: 'message' },
    endAll: { method: 'DELETE', path: '/api/v1/sessions', auth: 'jwt', has: 'message' },
    endWithPassword: { method: 'POST', path: '/api/v1/sessions/end', auth: 'jwt', body: true, has: 'message' },
    links: { method: 'GET', path: '/api/v1/sign-in-links', auth: 'jwt', has: 'links' },
    unlink: { method: 'DELETE', path: '/api/v1/sign-in-links/:id', auth: 'jwt', has: 'message' },
  },
  apiKeys: {
    create: { method: 'POST', path: '/api/v1/api-keys', auth: 'jwt', body: true, has: 'id' },
    list: { method: 'GET', path: '/api/v1/api-keys', auth: 'jwt', query: true, list: 'api_keys' },
    deactivate: { method: 'DELETE', path: '/api/v1/api-keys/:id', auth: 'jwt', has: 'message' },
  },
  messages: {
    send: { method: 'POST', path: '/api/v1/messages/send', auth: 'api_key', body: true, idempotent: true, has: 'message_id' },
    get: { method: 'GET', path: '/api/v1/messages/:id', auth: 'api_key', has: 'message' },
    timeline: { method: 'GET', path: '/api/v1/messages/:id/timeline', auth: 'api_key', has: 'timeline' },
    cancel: { method: 'POST', path: '/api/v1/messages/:id/cancel', auth: 'api_key', has: 'message' },
    reschedule: { method: 'POST', path: '/api/v1/messages/:id/reschedule', auth: 'api_key', body: true, has: 'message' },
    erase: { method: 'DELETE', path: '/api/v1/messages/:id', auth: 'api_key', has: 'message' },
    redact: { method: 'POST', path: '/api/v1/messages/:id/redact', auth: 'api_key', has: 'message' },
    estimate: { method: 'POST', path: '/api/v1/messages/estimate', auth: 'api_key', body: true, has: 'can_send' },
    list: { method: 'GET', path: '/api/v1/messages', auth: 'api_key', query: true, list: 'messages' },
  },
  bulks: {
    send: { method: 'POST', path: '/api/v1/messages/bulk', auth: 'api_key', body: true, idempotent: true, has: 'bulk_id' },
    get: { method: 'GET', path: '/api/v1/bulks/:id', auth: 'api_key', has: 'bulk' },
    rejected: { method: 'GET', path: '/api/v1/bulks/:id/rejected', auth: 'api_key', query: true, list: 'rejected' },
    cancel: { method: 'POST', path: '/api/v1/bulks/:id/cancel', auth: 'api_key', has: 'bulk' },
    retry: { method: 'POST', path: '/api/v1/bulks/:id/retry', auth: 'api_key', has: 'bulk_id' },
  },
  received: {
    list: { method: 'GET', path: '/api/v1/messages/received', auth: 'api_key', query: true, list: 'received' },
  },
  contacts: {
    create: { method: 'POST', path: '/api/v1/contacts', auth: 'jwt_or_api_key', body: true, has: 'contact' },
    list: { method: 'GET', path: '/api/v1/contacts', auth: 'jwt_or_api_key', query: true, list: 'contacts' },
    import: { method: 'POST', path: '/api/v1/contacts/import', auth: 'jwt_or_api_key', body: true, has: 'created' },
    export: { method: 'GET', path: '/api/v1/contacts/export', auth: 'jwt_or_api_key', query: true, has: 'contacts' },
    get: { method: 'GET', path: '/api/v1/contacts/:id', auth: 'jwt_or_api_key', has: 'contact' },
    update: { method: 'PUT', path: '/api/v1/contacts/:id', auth: 'jwt_or_api_key', body: true, has: 'contact' },
    delete: { method: 'DELETE', path: '/api/v1/contacts/:id', auth: 'jwt_or_api_key', has: 'message' },
  },
  suppressions: {
    list: { method: 'GET', path: '/api/v1/contacts/suppressions', auth: 'jwt_or_api_key', query: true, list: 'suppressions' },
    add: { method: 'POST', path: '/api/v1/contacts/suppressions', auth: 'jwt_or_api_key', body: true, has: 'suppression' },
    remove: { method: 'DELETE', path: '/api/v1/contacts/suppressions/:channel/:address', auth: 'jwt_or_api_key', has: 'message' },
  },
  webhooks: {
    create: { method: 'POST', path: '/api/v1/webhooks', auth: 'jwt_or_api_key', body: true, has: 'webhook' },
    list: { method: 'GET', path: '/api/v1/webhooks', auth: 'jwt_or_api_key', query: true, list: 'webhooks' },
    events: { method: 'GET', path: '/api/v1/webhooks/events', auth: 'jwt_or_api_key', has: 'events' },
    get: { method: 'GET', path: '/api/v1/webhooks/:id', auth: 'jwt_or_api_key', has: 'webhook' },
    update: { method: 'PUT', path: '/api/v1/webhooks/:id', auth: 'jwt_or_api_key', body: true, has: 'webhook' },
    delete: { method: 'DELETE', path: '/api/v1/webhooks/:id', auth: 'jwt_or_api_key', has: 'message' },
    rotateSecret: { method: 'POST', path: '/api/v1/webhooks/:id/rotate-secret', auth: 'jwt_or_api_key', has: 'webhook' },
    enable: { method: 'POST', path: '/api/v1/webhooks/:id/enable', auth: 'jwt_or_api_key', has: 'webhook' },
    test: { method: 'POST', path: '/api/v1/webhooks/:id/test', auth: 'jwt_or_api_key', has: 'delivery' },
    deliveries: { method: 'GET', path: '/api/v1/webhooks/:id/deliveries', auth: 'jwt_or_api_key', query: true, list: 'deliveries' },
    delivery: { method: 'GET', path: '/api/v1/webhooks/:id/deliveries/:delivery_id', auth: 'jwt_or_api_key', has: 'delivery' },
    retry: { method: 'POST', path: '/api/v1/webhooks/:id/deliveries/:delivery_id/retry', auth: 'jwt_or_api_key', has: 'delivery' },
    recover: { method: 'POST', path: '/api/v1/webhooks/:id/recover', auth: 'jwt_or_api_key', body: true, has: 'recovered' },
  },
  events: {
    list: { method: 'GET', path: '/api/v1/events', auth: 'jwt_or_api_key', query: true, list: 'events' },
  },
  domains: {
    create: { method: 'POST', path: '/api/v1/domains', auth: 'jwt', body: true, has: 'domain' },
    list: { method: 'GET', path: '/api/v1/domains', auth: 'jwt', query: true, list: 'domains' },
    get: { method: 'GET', path: '/api/v1/domains/:id', auth: 'jwt', has: 'domain' },
    verify: { method: 'POST', path: '/api/v1/domains/:id/verify', auth: 'jwt', has: 'domain' },
    rotate: { method: 'POST', path: '/api/v1/domains/:id/rotate', auth: 'jwt', has: 'domain' },
    delete: { method: 'DELETE', path: '/api/v1/domains/:id', auth: 'jwt', has: 'message' },
  },
  billing: {
    packages: { method: 'GET', path: '/api/v1/billing/packages', auth: 'none', has: 'packages' },
    checkout: { method: 'POST', path: '/api/v1/billing/checkout', auth: 'jwt', body: true, idempotent: true, has: 'purchase_id' },
    transactions: { method: 'GET', path: '/api/v1/billing/transactions', auth: 'jwt', query: true, list: 'transactions' },
  },
  audit: {
    list: { method: 'GET', path: '/api/v1/audit', auth: 'jwt', query: true, list: 'audit_entries' },
  },
  health: {
    check: { method: 'GET', path: '/health', auth: 'none', has: 'status', bare: true },
    live: { method: 'GET', path: '/health/live', auth: 'none', has: 'status', bare: true },
    ready: { method: 'GET', path: '/health/ready', auth: 'none', has: 'status', bare: true },
  },
} as const satisfies Record<string, Record<string, Endpoint>>

/** The kinds of events that this version knows. */
export const EVENT_KINDS = [
  'message.sent',
  'message.delivered',
  'message.failed',
  'message.recipients_failed',
  'message.read',
  'message.received',
  'credits.low',
  'webhook.test',
] as const
