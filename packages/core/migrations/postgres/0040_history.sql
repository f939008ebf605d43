CREATE TABLE "removed_history" (
	"workspace_id" text PRIMARY KEY NOT NULL,
	"last_id" text NOT NULL,
	"messages" bigint NOT NULL,
	"bulks" bigint NOT NULL,
	"charged" bigint NOT NULL,
	"refunded" bigint NOT NULL,
	"charged_bulks" bigint NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
