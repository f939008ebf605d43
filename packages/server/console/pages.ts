import home from './pages/home/home.tsx'
import messages from './pages/messages/messages.tsx'
import type { PageEntry, PageModule } from './shell/page.ts'
import { t } from './shell/text.ts'

// One script each for what different browsers load: members, operators, and members in `svc dev`.
const member = () => import('./pages/member.ts')
const operator = () => import('./pages/operator.ts')
const tools = () => import('./pages/tools.ts')

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
  { path: '/', label: t('Home'), icon: 'home', needs: 'belong', page: home },
  { path: '/messages/:id?', label: t('Messages'), icon: 'messages', group: 'Messaging', needs: 'read', page: messages },
  { path: '/compose', label: t('Compose'), icon: 'compose', group: 'Messaging', needs: 'send', page: of(member, 'compose') },
  { path: '/bulks/new', needs: 'send', page: of(member, 'newBulk') },
  { path: '/bulks/:id?', label: t('Bulks'), icon: 'bulks', group: 'Messaging', needs: 'read', page: of(member, 'bulks') },
  { path: '/broadcasts/new', needs: 'send', page: of(member, 'newBroadcast') },
  { path: '/broadcasts/:id?', label: t('Broadcasts'), icon: 'broadcasts', group: 'Messaging', needs: 'read', page: of(member, 'broadcasts') },
  { path: '/templates/:name?', label: t('Templates'), icon: 'templates', group: 'Messaging', needs: 'read', page: of(member, 'templates') },
  { path: '/webhooks/:id?/:delivery?', label: t('Webhooks'), icon: 'webhooks', group: 'Build', needs: 'read', page: of(member, 'webhooks') },
  { path: '/keys', label: t('API keys'), icon: 'keys', group: 'Build', needs: 'read', page: of(member, 'keys') },
  { path: '/domains/:id?', label: t('Sending domains'), icon: 'domains', group: 'Build', needs: 'read', page: of(member, 'domains') },
  { path: '/received/:channel?/:address?', label: t('Received'), icon: 'received', group: 'Messaging', needs: 'read', page: of(member, 'received') },
  { path: '/verifications/:id?', label: t('One-time codes'), icon: 'codes', group: 'Messaging', needs: 'read', page: of(member, 'verifications') },
  { path: '/contacts/:id?', label: t('Contacts'), icon: 'contacts', group: 'Audience', needs: 'read', page: of(member, 'contacts') },
  { path: '/people/:id', needs: 'read', page: of(member, 'person') },
  { path: '/suppressions', label: t('Suppressions'), icon: 'suppressions', group: 'Audience', needs: 'read', page: of(member, 'suppressions') },
  { path: '/credits/:view?', label: t('Credits'), icon: 'credits', group: 'Workspace', needs: 'belong', page: of(member, 'credits') },
  { path: '/team', label: t('Team'), icon: 'team', group: 'Workspace', needs: 'belong', page: of(member, 'team') },
  { path: '/audit', label: t('Audit log'), icon: 'audit', group: 'Workspace', needs: 'administer', page: of(member, 'audit') },
  { path: '/settings', label: t('Settings'), icon: 'settings', group: 'Workspace', needs: 'belong', page: of(member, 'settings') },
  { path: '/tools', label: t('Quick start'), icon: 'tools', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'firstSteps') },
  { path: '/tools/mails/:id?', label: t('Mails'), icon: 'mail', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'mails') },
  { path: '/tools/phone/:number?', label: t('Phone'), icon: 'phone', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'phone') },
  { path: '/tools/requests/:id?', label: t('Requests'), icon: 'bulks', group: 'Tools', needs: 'read', dev: true, page: of(tools, 'requests') },
  { path: '/operator', label: t('Overview'), icon: 'home', group: 'Operator', needs: 'operate', page: of(operator, 'overview') },
  { path: '/operator/providers', label: t('Providers'), icon: 'domains', group: 'Operator', needs: 'operate', page: of(operator, 'providers') },
  { path: '/operator/workspaces/:id?', label: t('Workspaces'), icon: 'team', group: 'Operator', needs: 'operate', page: of(operator, 'workspaces') },
  { path: '/operator/queues', label: t('Queues'), icon: 'bulks', group: 'Operator', needs: 'operate', page: of(operator, 'queues') },
  { path: '/operator/purchases', label: t('Purchases'), icon: 'credits', group: 'Operator', needs: 'operate', page: of(operator, 'purchases') },
  { path: '/operator/books', label: t('Ledger and backups'), icon: 'check', group: 'Operator', needs: 'operate', page: of(operator, 'books') },
  { path: '/operator/audit', label: t('Audit log'), icon: 'audit', group: 'Operator', needs: 'operate', page: of(operator, 'audit') },
  { path: '/operator/settings', label: t('Settings'), icon: 'settings', group: 'Operator', needs: 'operate', page: of(operator, 'settings') },
]
