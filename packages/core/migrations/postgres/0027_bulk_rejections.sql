CREATE TABLE "bulk_rejections" (
	"workspace_id" text NOT NULL,
	"bulk_id" text NOT NULL,
	"position" integer NOT NULL,
	"recipient" text,
	"error" text NOT NULL,
	"message" text NOT NULL,
	CONSTRAINT "bulk_rejections_workspace_id_bulk_id_position_pk" PRIMARY KEY("workspace_id","bulk_id","position")
);
