CREATE TABLE "ledger_openings" (
	"workspace_id" text PRIMARY KEY NOT NULL,
	"id" text NOT NULL,
	"seq" bigint NOT NULL,
	"balance" bigint NOT NULL,
	"held" bigint NOT NULL,
	"entries" bigint NOT NULL,
	"amount" bigint NOT NULL,
	"held_delta" bigint NOT NULL,
	"charged" bigint NOT NULL,
	"refunded" bigint NOT NULL,
	"charged_bulks" bigint NOT NULL,
	"sums" json NOT NULL,
	"hash" text NOT NULL,
	"kept" bigint NOT NULL,
	"kept_hash" text NOT NULL,
	"last_at" timestamp (3) with time zone NOT NULL,
	"folded_at" timestamp (3) with time zone NOT NULL,
	"signature" text NOT NULL
);
--> statement-breakpoint
-- The ledger is append-only: only entries of messages are removed, and only those that the opening stands for.
CREATE OR REPLACE FUNCTION ledger_entries_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
IF TG_OP = 'DELETE' THEN
  IF OLD.kind IN ('send', 'refund', 'hold', 'settle', 'void') AND OLD.seq <= coalesce((SELECT o.seq FROM ledger_openings o WHERE o.workspace_id = OLD.workspace_id), 0) THEN
    RETURN OLD;
  END IF;
END IF;
RAISE EXCEPTION 'ledger_entries is append-only';
END $$;
