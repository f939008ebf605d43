import audit from './pages/audit/audit.tsx'
import broadcasts from './pages/broadcasts/broadcasts.tsx'
import newBroadcast from './pages/broadcasts/new-broadcast.tsx'
import bulks from './pages/bulks/bulks.tsx'
import newBulk from './pages/bulks/new-bulk.tsx'
import compose from './pages/compose/compose.tsx'
import contacts from './pages/contacts/contacts.tsx'
import credits from './pages/credits/credits.tsx'
import domains from './pages/domains/domains.tsx'
import home from './pages/home/home.tsx'
import keys from './pages/keys/keys.tsx'
import messages from './pages/messages/messages.tsx'
import operatorAudit from './pages/operator/audit.tsx'
import operatorBooks from './pages/operator/books.tsx'
import operatorOverview from './pages/operator/overview.tsx'
import operatorProviders from './pages/operator/providers.tsx'
import operatorPurchases from './pages/operator/purchases.tsx'
import operatorQueues from './pages/operator/queues.tsx'
import operatorSettings from './pages/operator/settings.tsx'
import operatorWorkspaces from './pages/operator/workspaces.tsx'
import received from './pages/received/received.tsx'
import settings from './pages/settings/settings.tsx'
import suppressions from './pages/suppressions/suppressions.tsx'
import team from './pages/team/team.tsx'
import templates from './pages/templates/templates.tsx'
import firstSteps from './pages/tools/first-steps.tsx'
import mails from './pages/tools/mails.tsx'
import phone from './pages/tools/phone.tsx'
import requests from './pages/tools/requests.tsx'
import verifications from './pages/verifications/verifications.tsx'
import webhooks from './pages/webhooks/webhooks.tsx'
import type { PageEntry } from './shell/page.ts'

/** All pages, one line each, in the order of the navigation. The first entry whose path matches is shown. */
// biome-ignore format: one line a page, so that two branches that add a page do not conflict.
export const PAGES: readonly PageEntry[] = [
  { path: '/', label: 'Home', icon: 'home', needs: 'belong', module: home },
  { path: '/messages/:id?', label: 'Messages', icon: 'messages', group: 'Messaging', needs: 'read', module: messages },
  { path: '/compose', label: 'Compose', icon: 'compose', group: 'Messaging', needs: 'send', module: compose },
  { path: '/bulks/new', needs: 'send', module: newBulk },
  { path: '/bulks/:id?', label: 'Bulks', icon: 'bulks', group: 'Messaging', needs: 'read', module: bulks },
  { path: '/broadcasts/new', needs: 'send', module: newBroadcast },
  { path: '/broadcasts/:id?', label: 'Broadcasts', icon: 'broadcasts', group: 'Messaging', needs: 'read', module: broadcasts },
  { path: '/templates/:name?', label: 'Templates', icon: 'templates', group: 'Messaging', needs: 'read', module: templates },
  { path: '/webhooks/:id?/:delivery?', label: 'Webhooks', icon: 'webhooks', group: 'Build', needs: 'read', module: webhooks },
  { path: '/keys', label: 'API keys', icon: 'keys', group: 'Build', needs: 'read', module: keys },
  { path: '/domains/:id?', label: 'Sending domains', icon: 'domains', group: 'Build', needs: 'read', module: domains },
  { path: '/received/:channel?/:address?', label: 'Received', icon: 'received', group: 'Messaging', needs: 'read', module: received },
  { path: '/verifications/:id?', label: 'One-time codes', icon: 'codes', group: 'Messaging', needs: 'read', module: verifications },
  { path: '/contacts/:id?', label: 'Contacts', icon: 'contacts', group: 'Audience', needs: 'read', module: contacts },
  { path: '/suppressions', label: 'Suppressions', icon: 'suppressions', group: 'Audience', needs: 'read', module: suppressions },
  { path: '/credits', label: 'Credits', icon: 'credits', group: 'Workspace', needs: 'belong', module: credits },
  { path: '/team', label: 'Team', icon: 'team', group: 'Workspace', needs: 'belong', module: team },
  { path: '/audit', label: 'Audit log', icon: 'audit', group: 'Workspace', needs: 'administer', module: audit },
  { path: '/settings', label: 'Settings', icon: 'settings', group: 'Workspace', needs: 'belong', module: settings },
  { path: '/tools', label: 'Quick start', icon: 'tools', group: 'Tools', needs: 'read', dev: true, module: firstSteps },
  { path: '/tools/mails/:id?', label: 'Mails', icon: 'mail', group: 'Tools', needs: 'read', dev: true, module: mails },
  { path: '/tools/phone/:number?', label: 'Phone', icon: 'phone', group: 'Tools', needs: 'read', dev: true, module: phone },
  { path: '/tools/requests/:id?', label: 'Requests', icon: 'bulks', group: 'Tools', needs: 'read', dev: true, module: requests },
  { path: '/operator', label: 'Overview', icon: 'home', group: 'Operator', needs: 'operate', module: operatorOverview },
  { path: '/operator/providers', label: 'Providers', icon: 'domains', group: 'Operator', needs: 'operate', module: operatorProviders },
  { path: '/operator/workspaces/:id?', label: 'Workspaces', icon: 'team', group: 'Operator', needs: 'operate', module: operatorWorkspaces },
  { path: '/operator/queues', label: 'Queues', icon: 'bulks', group: 'Operator', needs: 'operate', module: operatorQueues },
  { path: '/operator/purchases', label: 'Purchases', icon: 'credits', group: 'Operator', needs: 'operate', module: operatorPurchases },
  { path: '/operator/books', label: 'Ledger and backups', icon: 'check', group: 'Operator', needs: 'operate', module: operatorBooks },
  { path: '/operator/audit', label: 'Audit log', icon: 'audit', group: 'Operator', needs: 'operate', module: operatorAudit },
  { path: '/operator/settings', label: 'Settings', icon: 'settings', group: 'Operator', needs: 'operate', module: operatorSettings },
]
