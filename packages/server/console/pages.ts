import home from './pages/home/home.tsx'
import messages from './pages/messages/messages.tsx'
import type { PageEntry, PageModule } from './shell/page.ts'

// Each group of pages is one script, which is loaded with the first page of it.
const sending = () => import('./pages/sending.ts')
const audience = () => import('./pages/audience.ts')
const building = () => import('./pages/building.ts')
const workspace = () => import('./pages/workspace.ts')
const tools = () => import('./pages/tools.ts')
const operator = () => import('./pages/operator.ts')

/** A page of a group. */
const of =
  <Group extends Record<Name, PageModule>, Name extends string>(
    group: () => Promise<Group>,
    name: Name,
  ) =>
  async () =>
    (await group())[name]

/** All pages, one line each, in the order of the navigation. The first entry whose path matches is shown. */
// biome-ignore format: one line a page, so that two branches that add a page do not conflict.
export const PAGES: readonly PageEntry[] = [
  { path: '/', label: 'Home', icon: 'home', needs: 'belong', page: home },
  { path: '/messages/:id?', label: 'Messages', icon: 'messages', group: 'Messaging', needs: 'read', page: messages },
  { path: '/compose', label: 'Compose', icon: 'compose', group: 'Messaging', needs: 'send', page: of(sending, 'compose') },
  { path: '/bulks/new', needs: 'send', page: of(sending, 'newBulk') },
  { path: '/bulks/:id?', label: 'Bulks', icon: 'bulks', group: 'Messaging', needs: 'read', page: of(sending, 'bulks') },
  { path: '/broadcasts/new', needs: 'send', page: of(sending, 'newBroadcast') },
  { path: '/broadcasts/:id?', label: 'Broadcasts', icon: 'broadcasts', group: 'Messaging', needs: 'read', page: of(sending, 'broadcasts') },
  { path: '/templates/:name?', label: 'Templates', icon: 'templates', group: 'Messaging', needs: 'read', page: of(sending, 'templates') },
  { path: '/webhooks/:id?/:delivery?', label: 'Webhooks', icon: 'webhooks', group: 'Build', needs: 'read', page: of(building, 'webhooks') },
  { path: '/keys', label: 'API keys', icon: 'keys', group: 'Build', needs: 'read', page: of(building, 'keys') },
  { path: '/domains/:id?', label: 'Sending domains', icon: 'domains', group: 'Build', needs: 'read', page: of(building, 'domains') },
  { path: '/received/:channel?/:address?', label: 'Received', icon: 'received', group: 'Messaging', needs: 'read', page: of(audience, 'received') },
  { path: '/verifications/:id?', label: 'One-time codes', icon: 'codes', group: 'Messaging', needs: 'read', page: of(audience, 'verifications') },
  { path: '/contacts/:id?', label: 'Contacts', icon: 'contacts', group: 'Audience', needs: 'read', page: of(audience, 'contacts') },
  { path: '/people/:id', needs: 'read', page: of(audience, 'person') },
  { path: '/suppressions', label: 'Suppressions', icon: 'suppressions', group: 'Audience', needs: 'read', page: of(audience, 'suppressions') },
  { path: '/credits/:view?', label: 'Credits', icon: 'credits', group: 'Workspace', needs: 'belong', page: of(workspace, 'credits') },
  { path: '/team', label: 'Team', icon: 'team', group: 'Workspace', needs: 'belong', page: of(workspace, 'team') },
  { path: '/audit', label: 'Audit log', icon: 'audit', group: 'Workspace', needs: 'administer', page: of(workspace, 'audit') },
  { path: '/settings', label: 'Settings', icon: 'settings', group: 'Workspace', needs: 'belong', page: of(workspace, 'settings') },
  { path: '/tools', label: 'Quick start', icon: 'tools', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'firstSteps') },
  { path: '/tools/mails/:id?', label: 'Mails', icon: 'mail', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'mails') },
  { path: '/tools/phone/:number?', label: 'Phone', icon: 'phone', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'phone') },
  { path: '/tools/requests/:id?', label: 'Requests', icon: 'bulks', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'requests') },
  { path: '/operator', label: 'Overview', icon: 'home', group: 'Operator', needs: 'operate', page: of(operator, 'overview') },
  { path: '/operator/providers', label: 'Providers', icon: 'domains', group: 'Operator', needs: 'operate', page: of(operator, 'providers') },
  { path: '/operator/workspaces/:id?', label: 'Workspaces', icon: 'team', group: 'Operator', needs: 'operate', page: of(operator, 'workspaces') },
  { path: '/operator/queues', label: 'Queues', icon: 'bulks', group: 'Operator', needs: 'operate', page: of(operator, 'queues') },
  { path: '/operator/purchases', label: 'Purchases', icon: 'credits', group: 'Operator', needs: 'operate', page: of(operator, 'purchases') },
  { path: '/operator/books', label: 'Ledger and backups', icon: 'check', group: 'Operator', needs: 'operate', page: of(operator, 'books') },
  { path: '/operator/audit', label: 'Audit log', icon: 'audit', group: 'Operator', needs: 'operate', page: of(operator, 'audit') },
  { path: '/operator/settings', label: 'Settings', icon: 'settings', group: 'Operator', needs: 'operate', page: of(operator, 'settings') },
]
