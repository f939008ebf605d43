CREATE TABLE `ledger_openings` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`seq` integer NOT NULL,
	`balance` integer NOT NULL,
	`held` integer NOT NULL,
	`entries` integer NOT NULL,
	`amount` integer NOT NULL,
	`held_delta` integer NOT NULL,
	`charged` integer NOT NULL,
	`refunded` integer NOT NULL,
	`charged_bulks` integer NOT NULL,
	`sums` text NOT NULL,
	`hash` text NOT NULL,
	`kept` integer NOT NULL,
	`kept_hash` text NOT NULL,
	`last_at` integer NOT NULL,
	`folded_at` integer NOT NULL,
	`signature` text NOT NULL
) STRICT;
--> statement-breakpoint
DROP TRIGGER ledger_entries_no_delete;
--> statement-breakpoint
-- The ledger is append-only: only entries of messages are removed, and only those that the opening stands for.
CREATE TRIGGER ledger_entries_no_delete BEFORE DELETE ON ledger_entries
WHEN NOT (OLD.kind IN ('send', 'refund', 'hold', 'settle', 'void') AND OLD.seq <= coalesce((SELECT o.seq FROM ledger_openings o WHERE o.workspace_id = OLD.workspace_id), 0))
BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
