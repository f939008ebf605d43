import * as home from './pages/home/home.tsx'
import type { PageEntry } from './shell/page.ts'

type Name = keyof typeof import('./pages/all.ts')

/** Loads the pages, and takes one of them. */
const page = (name: Name) => async () => ({ default: (await import('./pages/all.ts'))[name] })

/** All pages, one line each, in the order of the navigation. The first entry whose path matches is shown. */
// biome-ignore format: one line a page, so that two branches that add a page do not conflict.
export const PAGES: readonly PageEntry[] = [
  { path: '/', label: 'Home', icon: 'home', needs: 'belong', load: async () => home },
  { path: '/messages/:id?', label: 'Messages', icon: 'messages', group: 'Messaging', needs: 'read', load: page('messages') },
  { path: '/compose', label: 'Compose', icon: 'compose', group: 'Messaging', needs: 'send', load: page('compose') },
  { path: '/bulks/new', needs: 'send', load: page('newBulk') },
  { path: '/bulks/:id?', label: 'Bulks', icon: 'bulks', group: 'Messaging', needs: 'read', load: page('bulks') },
  { path: '/webhooks/:id?/:delivery?', label: 'Webhooks', icon: 'webhooks', group: 'Build', needs: 'read', load: page('webhooks') },
  { path: '/keys', label: 'API keys', icon: 'keys', group: 'Build', needs: 'read', load: page('keys') },
  { path: '/domains/:id?', label: 'Sending domains', icon: 'domains', group: 'Build', needs: 'read', load: page('domains') },
  { path: '/received/:channel?/:address?', label: 'Received', icon: 'received', group: 'Messaging', needs: 'read', load: page('received') },
  { path: '/contacts/:id?', label: 'Contacts', icon: 'contacts', group: 'Audience', needs: 'read', load: page('contacts') },
  { path: '/suppressions', label: 'Suppressions', icon: 'suppressions', group: 'Audience', needs: 'read', load: page('suppressions') },
  { path: '/credits', label: 'Credits', icon: 'credits', group: 'Workspace', needs: 'belong', load: page('credits') },
  { path: '/team', label: 'Team', icon: 'team', group: 'Workspace', needs: 'belong', load: page('team') },
  { path: '/audit', label: 'Audit log', icon: 'audit', group: 'Workspace', needs: 'administer', load: page('audit') },
  { path: '/settings', label: 'Settings', icon: 'settings', group: 'Workspace', needs: 'belong', load: page('settings') },
  { path: '/tools', label: 'First steps', icon: 'tools', group: 'Tools', needs: 'read', dev: true, load: page('firstSteps') },
  { path: '/tools/mails/:id?', label: 'Mails', icon: 'mail', group: 'Tools', needs: 'read', dev: true, load: page('mails') },
  { path: '/tools/phone/:number?', label: 'Phone', icon: 'phone', group: 'Tools', needs: 'read', dev: true, load: page('phone') },
  { path: '/tools/requests/:id?', label: 'Requests', icon: 'bulks', group: 'Tools', needs: 'read', dev: true, load: page('requests') },
  { path: '/operator', label: 'Overview', icon: 'home', group: 'Operator', needs: 'operate', load: page('operatorOverview') },
  { path: '/operator/providers', label: 'Providers', icon: 'domains', group: 'Operator', needs: 'operate', load: page('operatorProviders') },
  { path: '/operator/workspaces/:id?', label: 'Workspaces', icon: 'team', group: 'Operator', needs: 'operate', load: page('operatorWorkspaces') },
  { path: '/operator/queues', label: 'Queues', icon: 'bulks', group: 'Operator', needs: 'operate', load: page('operatorQueues') },
  { path: '/operator/purchases', label: 'Purchases', icon: 'credits', group: 'Operator', needs: 'operate', load: page('operatorPurchases') },
  { path: '/operator/books', label: 'Ledger and backups', icon: 'check', group: 'Operator', needs: 'operate', load: page('operatorBooks') },
  { path: '/operator/audit', label: 'Audit log', icon: 'audit', group: 'Operator', needs: 'operate', load: page('operatorAudit') },
  { path: '/operator/settings', label: 'Settings', icon: 'settings', group: 'Operator', needs: 'operate', load: page('operatorSettings') },
]
