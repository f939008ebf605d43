import type { PageEntry } from './shell/page.ts'

const messages = () => import('./pages/messages.ts')

/** All pages, one line each, in the order of the navigation. The first entry whose path matches is shown. */
// biome-ignore format: one line a page, so that two branches that add a page do not conflict.
export const PAGES: readonly PageEntry[] = [
  { path: '/', label: 'Home', icon: 'home', needs: 'belong', load: () => import('./pages/home/home.tsx') },
  { path: '/messages/:id?', label: 'Messages', icon: 'messages', group: 'Messaging', needs: 'read', load: () => messages().then((all) => ({ default: all.messages })) },
  { path: '/compose', label: 'Compose', icon: 'compose', group: 'Messaging', needs: 'send', load: () => messages().then((all) => ({ default: all.compose })) },
  { path: '/bulks/new', needs: 'send', load: () => messages().then((all) => ({ default: all.newBulk })) },
  { path: '/bulks/:id?', label: 'Bulks', icon: 'bulks', group: 'Messaging', needs: 'read', load: () => messages().then((all) => ({ default: all.bulks })) },
  { path: '/webhooks/:id?/:delivery?', label: 'Webhooks', icon: 'webhooks', group: 'Build', needs: 'read', load: () => import('./pages/webhooks/webhooks.tsx') },
  { path: '/keys', label: 'API keys', icon: 'keys', group: 'Build', needs: 'read', load: () => import('./pages/keys/keys.tsx') },
  { path: '/domains/:id?', label: 'Sending domains', icon: 'domains', group: 'Build', needs: 'read', load: () => import('./pages/domains/domains.tsx') },
  { path: '/received/:channel?/:address?', label: 'Received', icon: 'received', group: 'Messaging', needs: 'read', load: async () => ({ default: (await import('./pages/audience.ts')).received }) },
  { path: '/contacts/:id?', label: 'Contacts', icon: 'contacts', group: 'Audience', needs: 'read', load: async () => ({ default: (await import('./pages/audience.ts')).contacts }) },
  { path: '/suppressions', label: 'Suppressions', icon: 'suppressions', group: 'Audience', needs: 'read', load: async () => ({ default: (await import('./pages/audience.ts')).suppressions }) },
  { path: '/credits', label: 'Credits', icon: 'credits', group: 'Workspace', needs: 'belong', load: async () => ({ default: (await import('./pages/workspace.ts')).credits }) },
  { path: '/team', label: 'Team', icon: 'team', group: 'Workspace', needs: 'belong', load: async () => ({ default: (await import('./pages/workspace.ts')).team }) },
  { path: '/audit', label: 'Audit log', icon: 'audit', group: 'Workspace', needs: 'administer', load: async () => ({ default: (await import('./pages/workspace.ts')).audit }) },
  { path: '/settings', label: 'Settings', icon: 'settings', group: 'Workspace', needs: 'belong', load: async () => ({ default: (await import('./pages/workspace.ts')).settings }) },
  { path: '/tools', label: 'First steps', icon: 'tools', group: 'Tools', needs: 'read', dev: true, load: async () => ({ default: (await import('./pages/tools/tools.ts')).firstSteps }) },
  { path: '/tools/mails/:id?', label: 'Mails', icon: 'mail', group: 'Tools', needs: 'read', dev: true, load: async () => ({ default: (await import('./pages/tools/tools.ts')).mails }) },
  { path: '/tools/phone/:number?', label: 'Phone', icon: 'phone', group: 'Tools', needs: 'read', dev: true, load: async () => ({ default: (await import('./pages/tools/tools.ts')).phone }) },
  { path: '/tools/requests/:id?', label: 'Requests', icon: 'bulks', group: 'Tools', needs: 'read', dev: true, load: async () => ({ default: (await import('./pages/tools/tools.ts')).requests }) },
]
