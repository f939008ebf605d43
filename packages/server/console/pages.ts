import type { PageEntry } from './shell/page.ts'

/** All pages, one line each, in the order of the navigation. The first entry whose path matches is shown. */
// biome-ignore format: one line a page, so that two branches that add a page do not conflict.
export const PAGES: readonly PageEntry[] = [
  { path: '/', label: 'Home', icon: 'home', needs: 'belong', load: () => import('./pages/home/home.tsx') },
  { path: '/messages/:id?', label: 'Messages', icon: 'messages', group: 'Messaging', needs: 'read', load: () => import('./pages/messages/messages.tsx') },
  { path: '/webhooks/:id?/:delivery?', label: 'Webhooks', icon: 'webhooks', group: 'Build', needs: 'read', load: () => import('./pages/webhooks/webhooks.tsx') },
  { path: '/keys', label: 'API keys', icon: 'keys', group: 'Build', needs: 'read', load: () => import('./pages/keys/keys.tsx') },
  { path: '/domains/:id?', label: 'Sending domains', icon: 'domains', group: 'Build', needs: 'read', load: () => import('./pages/domains/domains.tsx') },
]
