// Lines of 24 by 24, drawn for this console.
const PATHS: Record<string, string> = {
  home: 'M4 11l8-7 8 7v9h-5v-6H9v6H4z',
  messages: 'M4 5h16v11H9l-5 4z',
  compose: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  received: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5',
  bulks: 'M4 7h16M4 12h16M4 17h10',
  broadcasts: 'M4 10v4l11 4V6zM15 10a2 2 0 010 4M6 15v5h3v-4',
  contacts: 'M12 12a4 4 0 100-8 4 4 0 000 8zM4 20c1-4 4-6 8-6s7 2 8 6',
  suppressions: 'M12 21a9 9 0 100-18 9 9 0 000 18zM6 6l12 12',
  webhooks: 'M8 8l4-4 4 4M12 4v9M5 14v5h14v-5',
  templates: 'M5 4h14v16H5zM8 8h8M8 12h8M8 16h4',
  codes: 'M3 6h18v12H3zM8 12h.01M12 12h.01M16 12h.01',
  keys: 'M9 15a4 4 0 100-8 4 4 0 000 8zM13 11h8v4M17 11v3',
  credits: 'M3 6h18v12H3zM3 10h18M7 15h3',
  domains: 'M12 21a9 9 0 100-18 9 9 0 000 18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  team: 'M9 12a3.5 3.5 0 100-7 3.5 3.5 0 000 7zM3 19c.5-3 3-5 6-5s5.5 2 6 5M16 5a3.5 3.5 0 010 7M17 14c2 .5 3.5 2 4 5',
  audit: 'M6 3h9l4 4v14H6zM9 12h6M9 16h6M14 3v5h5',
  settings:
    'M4 7h10M18 7h2M4 17h2M10 17h10M16 9a2 2 0 100-4 2 2 0 000 4zM8 19a2 2 0 100-4 2 2 0 000 4z',
  tools: 'M5 4h14v16H5zM9 9l3 3-3 3M13 15h3',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12l5 5L20 7',
  close: 'M6 6l12 12M18 6L6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  plus: 'M12 5v14M5 12h14',
  refresh: 'M20 11a8 8 0 10-2 6M20 5v6h-6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  upload: 'M12 16V5M7 9l5-5 5 5M5 20h14',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  empty: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  exit: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  phone: 'M8 3h8v18H8zM11 18h2',
  mail: 'M3 6h18v12H3zM3 7l9 7 9-7',
}

/** Those that point along the lines of a text. */
const DIRECTED = ['left', 'right', 'exit']

/** A small picture beside a text; screen readers skip it. */
export function Icon({ name }: { name: string }) {
  return (
    <svg
      class={DIRECTED.includes(name) ? 'icon directed' : 'icon'}
      viewBox="0 0 24 24"
      aria-hidden="true"
    >
      <path d={PATHS[name] ?? PATHS.empty} />
    </svg>
  )
}
